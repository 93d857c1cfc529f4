//! Two runs of the same fate: one undisturbed, one that crashes (I6).
