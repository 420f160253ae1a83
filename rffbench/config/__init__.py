"""What a config means: its values, its experiment, the grid of trials that it stands for."""
