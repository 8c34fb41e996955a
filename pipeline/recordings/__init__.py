"""Recordings of requests and answers, held to the oracle."""
