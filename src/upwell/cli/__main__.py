"""Entry point of `python -m upwell.cli`."""

from upwell.cli import main

if __name__ == "__main__":
    main()
