"""The APIs: for each request, the rules by which Kafka answers it."""
