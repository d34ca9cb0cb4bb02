# What jq has and jaq's libraries leave to its command.
def @csv: [.[] | if . == null then "" elif isstring then "\"" + gsub("\""; "\"\"") + "\""
  elif isarray or isobject then error("not a cell: \(type)") else tostring end] | join(",");
def @tsv: [.[] | if . == null then "" elif isarray or isobject then error("not a cell: \(type)")
  else tostring | gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r") end] | join("\t");
def toarray: if isarray then . else [.] end;
def tostring: if isstring then . else tojson end;
def leaf_paths: paths(scalars);
def trimstr($x): ltrimstr($x) | rtrimstr($x);
def IN(s): any(s == .; .);
def IN(src; s): any(src == s; .);
def INDEX(stream; f): reduce stream as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);
def ascii: [.] | implode;
def finites: select(isfinite);
def tostream: path(def r: (.[]?|r), .; r) as $p | getpath($p)
  | reduce path(.[]?) as $q ([$p, .]; [$p + $q]);
