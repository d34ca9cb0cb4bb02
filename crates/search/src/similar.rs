//! Finds words that may stand for the words of a question: synonyms and other spellings.
//!
//! A person who asks a question does not know which words a document uses. The table of synonyms
//! contains words of everyday technical English. It is not made for any particular document.

use crate::words::Stems;

/// Each line contains words that may stand for one another.
const ALIKE: &str = "\
allow permit accept enable let
ban forbid prohibit disallow reject deny forbidden illegal
need require must necessary mandatory compulsory obligatory required
should recommend advise suggest advisable recommended
avoid discourage discouraged
maximum max limit most longest largest upper cap bound highest biggest ceiling
minimum min least lowest smallest lower shortest floor
default standard stock initial preset usual builtin initially
number count amount quantity how many times
length size long width
range interval between from
depth nesting level deep nested
name call term title known named called
mean stand meaning short expansion abbreviation
begin start launch run execute open first
end stop finish terminate exit last quit
kill die abort terminate signal
delete remove erase drop discard purge clear
add append insert include introduce new
make create build generate produce construct write
change modify alter edit update adjust
replace substitute swap exchange
turn switch convert transform
keep retain preserve hold store save
get obtain fetch retrieve receive read
send transmit deliver submit pass
show display print output list view
hide suppress omit conceal
choose select pick decide
use employ apply utilize
find search locate look
fix repair correct bug solve
improve enhance better
fail error failure fault wrong break problem
throw raise error return exception
warn warning caution
cause reason why because since
result outcome effect consequence return
code status value
status exit code
error code
old former previous earlier prior historic formerly previously older
new recent latest current
next future upcoming following later
before prior earlier
after following later afterwards
author write writer wrote written creator
person user human people people's
account user
ordinary normal regular usual plain
special magic particular reserved
own custom personal private individual
local private machine
public open export
file document
directory folder
path location where place
argument parameter option flag switch
parameter params query
option setting flag attribute
variable parameter value
attribute property option field
field column member property
environment env
permission mode chmod access right
repository repo
descriptor fd handle
identifier id name uid
uid user id numeric
hash sha1 digest checksum
id name identifier number
number integer numeric digits
digit character number length
character char letter
string text
boolean bool true false
blank empty whitespace newline space line
newline line linefeed
separator delimiter field
synopsis summary description short
brief short concise
short abbreviation brief
describe explain description
estimate approximate
compute calculate determine computed
round rounded
percent %
escape escaping quote literal
literal verbatim raw
deprecate obsolete deprecated removed
version release
major version
date day time when
year date
month date
port listen tcp
server daemon httpd host
web http
browser web gitweb
client browser
socket connection network tcp
network tcp connection internet
connection connect
proxy proxies
disable off false ignore
enable on true
skip ignore bypass
csrf xsrf forgery
cookie cookies
request response http
response reply answer body
body content data payload
compress gzip zip
decompress unzip decompression inflate
memory ram
storage disk space
disk storage space size
speed fast performance quick
slow delay wait
timeout wait expire
expire expiry expiration maxage
retry repeat again
repeat again twice duplicate
copy version duplicate clone
clone copy download
merge combine join
conflict merge
branch head
index stage staging cache
cache store
commit revision changeset
history log past
parent ancestor
child children subprocess
group gid
root superuser admin
admin administrator root
password secret credential
encrypt cipher tls
certificate tls cert
install setup deploy
uninstall remove
package module library
dependency depend requirement
depend rely need
extend subclass inherit derive extension
class type
type kind class sort
function method callback
action behaviour behavior
order sequence sort
sort order rank
opinion advice style bad good
good recommended fine
bad poor wrong discouraged
trouble problem issue warning recommended
danger risk unsafe
safe secure security
attack exploit vulnerability
picture image photo
image picture
money cost price
price cost fee charge
buy purchase order
customer client buyer user
company firm vendor organisation organization
phone telephone
address location
country nation state
city town
job task work process
task job step
schedule cron timer plan
message text notice
mail email mailbox
letter character
test check verify validate
check test verify examine
example sample instance
several multiple many some
multiple several many more
single one only individual
all every each whole
both two
optional option may
prefix begin start
suffix end extension
empty blank null unset
unset empty undefined null
null none nil undefined
unlimited infinity infinite
infinity unlimited infinite
equal same identical
different other distinct differ
same equal identical
always every never
never not forbidden
support supported available
available exist present
exist present available
";

/// Returns the stems of synonyms of `words`, each with the number of the word for which it stands.
pub(crate) fn others(words: &[(usize, String)], stems: &Stems) -> Vec<(usize, String)> {
    let mut others = Vec::new();
    for line in ALIKE.lines() {
        let line: Vec<String> = line.split(' ').map(|word| stems.stem(word)).collect();
        for (at, word) in words {
            if line.contains(word) {
                let of_line = line.iter().filter(|other| *other != word);
                others.extend(of_line.map(|other| (*at, other.clone())));
            }
        }
    }
    others
}

/// Returns the American spelling of a British stem, or the other way round.
pub(crate) fn respelled(stem: &str) -> Option<String> {
    const PAIRS: [(&str, &str); 4] = [
        ("iz", "is"),
        ("yz", "ys"),
        ("olor", "olour"),
        ("avior", "aviour"),
    ];
    PAIRS.iter().find_map(|(one, other)| {
        let swap = |from: &str, to: &str| {
            let start = stem.strip_suffix(from)?;
            (start.len() >= 3 || from.len() > 2).then(|| format!("{start}{to}"))
        };
        swap(other, one).or_else(|| swap(one, other))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_have_others() {
        let stems = Stems::new();
        let words = [(0, stems.stem("limits")), (1, stems.stem("zebra"))];
        let others = others(&words, &stems);
        assert!(others.contains(&(0, "maximum".to_owned())), "{others:?}");
        assert!(others.iter().all(|(at, _)| *at == 0));
        assert_eq!(respelled("serialis").as_deref(), Some("serializ"));
        assert_eq!(respelled("behavior").as_deref(), Some("behaviour"));
        assert_eq!(respelled("dog"), None);
    }
}
