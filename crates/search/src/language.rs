//! What a person types into the search box.
