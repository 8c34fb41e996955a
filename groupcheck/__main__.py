"""`python -m groupcheck`."""

from groupcheck.cli import main

raise SystemExit(main())
