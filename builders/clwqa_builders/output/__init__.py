"""Writing the dataset folder: tables, mirrors, card, Croissant description and manifest."""
