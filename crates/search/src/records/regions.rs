//! The names of the states of the USA and of the provinces of Canada, with the codes that tables
//! have for them (ISO 3166-2).

/// Names, squeezed, each with its code.
const REGIONS: &str = "alabama al alaska ak arizona az arkansas ar california ca colorado co connecticut ct delaware de \
districtofcolumbia dc florida fl georgia ga hawaii hi idaho id illinois il indiana in iowa ia kansas ks kentucky ky \
louisiana la maine me maryland md massachusetts ma michigan mi minnesota mn mississippi ms missouri mo montana mt \
nebraska ne nevada nv newhampshire nh newjersey nj newmexico nm newyork ny northcarolina nc northdakota nd ohio oh \
oklahoma ok oregon or pennsylvania pa rhodeisland ri southcarolina sc southdakota sd tennessee tn texas tx utah ut \
vermont vt virginia va washington wa westvirginia wv wisconsin wi wyoming wy puertorico pr guam gu alberta ab \
britishcolumbia bc manitoba mb newbrunswick nb novascotia ns ontario on quebec qc saskatchewan sk";

/// Returns the code of a region, given its squeezed name, in lower case: `tx` for `texas`.
pub(super) fn code(name: &str) -> Option<&'static str> {
    let mut words = REGIONS.split_ascii_whitespace();
    while let (Some(region), Some(code)) = (words.next(), words.next()) {
        if region == name {
            return Some(code);
        }
    }
    None
}
