//! A part of a long list.

/// Which part of a list to answer. Pages are counted from one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page {
    pub number: u32,
    pub size: u8,
}

/// The first page, as long as a page may be.
impl Default for Page {
    fn default() -> Self {
        Self {
            number: 1,
            size: u8::MAX,
        }
    }
}

impl Page {
    pub(crate) const fn query(self) -> [(&'static str, u32); 2] {
        [("page", self.number), ("per_page", self.size as u32)]
    }
}
