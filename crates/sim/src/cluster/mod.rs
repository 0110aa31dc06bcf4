//! Connections that enter as others leave, over nodes with a CPU and a disk: LARD, P-HTTP, and the
//! distributed front-end.
