"""Long runs: thousands of concurrent sequences on a real clock."""
