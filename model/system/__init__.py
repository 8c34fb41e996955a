"""The whole system: consumers and their coordinator, with messages between them."""
