# Upwell with Chromium, for sites that need JavaScript:
#   docker build -t upwell . && docker run --rm -v "$PWD:/data" upwell harvest https://example.org/
# The web interface at http://localhost:8765/?token=SECRET:
#   docker run --rm -v "$PWD:/data" -p 8765:8765 upwell serve harvest --host 0.0.0.0 --token SECRET
FROM python:3.12-slim
RUN apt-get update && apt-get install -y --no-install-recommends chromium && rm -rf /var/lib/apt/lists/*
WORKDIR /build
COPY pyproject.toml setup.py constraints.txt LICENSE NOTICE ./
COPY docs/pypi.md docs/
COPY src src
# the compiler is needed for the native code only, and removed again
RUN apt-get update && apt-get install -y --no-install-recommends gcc libc6-dev \
    && pip install --no-cache-dir -c constraints.txt '.[all]' \
    && apt-get purge -y --auto-remove gcc libc6-dev && rm -rf /build /var/lib/apt/lists/*
ENV OMP_NUM_THREADS=1
EXPOSE 8765
WORKDIR /data
ENTRYPOINT ["upwell"]
CMD ["--help"]
