"""Entry point of `python -m upwell.cli`."""

from upwell.__main__ import main

if __name__ == "__main__":
    main()
