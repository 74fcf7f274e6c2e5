"""A built dataset becomes a repository on the Hugging Face Hub.

``parcel`` makes the folder that is published, ``terms`` says what its sources ask for, ``hub`` is the repository as a
token sees it, ``release`` puts the one into the other in one commit, and ``reload`` looks at what arrived.
"""
