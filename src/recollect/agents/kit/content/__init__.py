"""Contents of messages in the shapes that many agents borrow: Anthropic's, OpenAI's, Google's and the AI SDK's."""
