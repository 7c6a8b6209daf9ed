"""What a robot does in simulators: it holds its pose, and its joints reach their targets."""
