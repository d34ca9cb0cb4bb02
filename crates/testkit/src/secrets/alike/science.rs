//! Data of other trades: proteins, games, places, public ledgers, prose.

use super::{Kind, kind};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "protein",
        &[
            ">sp|P@{digits:5}|@{WORD}_HUMAN @{word} @{word}\nM@{amino:59}\n@{amino:60}\n@{amino:60}\n",
            ">seq@{1-900} length=@{80-900}\nM@{amino:79}\n@{amino:80}\n",
            "SEQRES   1 A  @{100-300}  MET ALA GLY LEU @{amino:40}\n",
        ],
    ),
    kind(
        "chess",
        &[
            "rnbqkb1r/pp@{1-6}p1ppp/5n2/2p5/4P3/2N2N2/PPPP1PPP/R1BQKB1R w KQkq - @{1-9} @{1-60}\n",
            "[Event \"@{Word} open\"]\n[FEN \"8/8/@{1-7}k6/8/4K3/8/R7/8 w - - 0 @{1-90}\"]\n1. Ra8 Kc5 2. Kd3\n",
            "bestmove e@{2-4}e@{5-7} ponder g8f6 hashfull @{100-900} fen r1bqkbnr/pppp1ppp/2n5/4p3/2B1P3/5Q2/PPPP1PPP/RNB1K1NR b\n",
        ],
    ),
    kind(
        "geohash",
        &[
            "geohash: @{geohash:9}\nlat: @{10-80}.@{digits:6}\nlon: @{10-170}.@{digits:6}\n",
            "@{word},@{geohash:12},@{10-80}.@{digits:5}\n@{word},@{geohash:12},@{10-80}.@{digits:5}\n",
            "plus code 9F4MGC@{digits:2}+@{upper:2} near @{Word} street\n",
        ],
    ),
    kind(
        "ethereum",
        &[
            "transaction 0x@{hex:64} from 0x@{hex:40} to 0x@{hex:40} value @{1-90} wei\n",
            "{\"blockHash\":\"0x@{hex:64}\",\"blockNumber\":\"0x@{hex:7}\",\"to\":\"0x@{hex:40}\"}",
            "Contract @{Word} deployed at 0x@{hex:40} in block @{digits:8}\n",
            "https://etherscan.io/address/0x@{hex:40}\n",
        ],
    ),
    kind(
        "bitcoin",
        &[
            "address 1@{base58:33} received 0.@{digits:8} BTC\n",
            "{\"txid\":\"@{hex:64}\",\"vout\":@{0-9},\"address\":\"3@{base58:33}\"}",
            "block 00000000000000000@{hex:47} height @{digits:6}\n",
            "pay to bc1q@{geohash:38} until @{date}\n",
        ],
    ),
    kind(
        "ipfs",
        &[
            "added Qm@{base58:44} @{word}.txt\nadded Qm@{base58:44} @{word}\n",
            "ipfs://bafybei@{base32:52}/@{word}.json\n",
            "https://ipfs.io/ipfs/bafkrei@{base32:52}\n",
        ],
    ),
    kind(
        "chemistry",
        &[
            "InChIKey=@{letters:14}-@{letters:10}-N  # @{word}\n",
            "SMILES: CC(=O)OC1=CC=CC=C1C(=O)N[C@@H](C@{1-9})C  # @{word}\n",
            "PDB @{1-9}@{upper:3} chain A, ligand @{upper:3}, resolution @{1-4}.@{10-99}\n",
        ],
    ),
    kind(
        "genome",
        &[
            "@SRR@{digits:7}.@{1-900} length=60\nACGTTGCAAGCT@{amino:1}GATTACAGATTACAGCATCGGATC\n+\nIIIIHHHGGFFEEDDCBA\n",
            "chr@{1-22}\t@{digits:8}\trs@{digits:7}\tA\tG\t@{10-99}\tPASS\n",
            "ENSG00000@{digits:6}\t@{upper:5}\tchr@{1-22}\t@{digits:8}\n",
        ],
    ),
    kind(
        "prose",
        &[
            "@{sentences:3-20}\n",
            "# @{Word}\n\n@{sentences:2-8}\n\n## @{Word}\n\n@{sentences:2-8}\n",
            "Dear @{name},\n\n@{sentences:2-6}\n\nBest wishes\n@{name}\n",
        ],
    ),
    kind(
        "table",
        &[
            "id,name,city,amount\n@{1-900},@{name},@{Word},@{1-900}.@{10-99}\n@{1-900},@{name},@{Word},@{1-900}.@{10-99}\n",
            "| @{word} | @{word} |\n|---|---|\n| @{1-900} | @{sentence} |\n| @{1-900} | @{sentence} |\n",
            "PID   USER     %CPU COMMAND\n@{100-9000}  @{name}   @{1-90}.@{0-9}  /usr/bin/@{word}\n",
        ],
    ),
];
