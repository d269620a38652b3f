"""Numbers that go out as they are: whole words without a mask, now and then or always."""
