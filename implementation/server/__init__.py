"""The coordinator on Kafka's wire: sockets, frames, and what consumers need around a group."""
