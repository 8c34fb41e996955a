"""The server: the coordinator on Kafka's wire protocol, with the other APIs that clients need."""
