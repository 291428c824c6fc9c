"""OpenTelemetry GenAI: spans and logs that agents send or write, in OTLP's JSON, as protobuf or flat."""
