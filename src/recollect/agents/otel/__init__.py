"""OpenTelemetry GenAI: spans and logs that agents send or write, as OTLP JSON, protobuf or flat records."""
