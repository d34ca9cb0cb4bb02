#!/usr/bin/env python3
"""Computes the gold of every structured question from docs/ and writes questions.jsonl (together
with prose.py's hand-marked phrases, which are checked to occur verbatim)."""
import csv, json, os, re, sys, collections
HERE = os.path.dirname(os.path.abspath(__file__)); DOCS = os.path.join(HERE, 'docs')
raw = lambda n: open(os.path.join(DOCS, n), encoding='utf-8', newline='').read()
J = lambda n: json.loads(raw(n))
NL = lambda n: [json.loads(l) for l in raw(n).splitlines() if l.strip()]
CSV = lambda n: list(csv.DictReader(open(os.path.join(DOCS, n), encoding='utf-8', newline='')))
MV, RE, LK, PI, CM = 'movies.json', 'npm-view-react.json', 'package-lock.json', 'pip-report-jupyter-server.json', 'cargo-metadata-hyperfine.json'
EQ, BF, CK, RU = 'earthquakes.json', 'blockfrost-schema.json', 'cargo-check-hyperfine.ndjson', 'ruff-django.ndjson'
AI, BI, DP = 'airports.csv', 'birdstrikes.csv', 'dpkg.tsv'
DPF = ['package', 'version', 'arch', 'section', 'kb', 'priority', 'maintainer', 'summary']
def top(items, key, name, k, rev=True):
    """names of the k items with the largest (rev) key; refuses a tie at the boundary"""
    s = sorted([x for x in items if key(x) is not None], key=key, reverse=rev)
    assert key(s[k-1]) != key(s[k]), ('tie', key(s[k-1]), [name(x) for x in s[:k+2]])
    return [name(x) for x in s[:k]]
def one(xs):
    """the single distinct value of a lookup"""
    xs = list(dict.fromkeys(map(str, xs))); assert len(xs) == 1, ('not one', xs[:5]); return xs
def uniq(xs): return list(dict.fromkeys(map(str, xs)))
ymd = lambda s: __import__('datetime').datetime.strptime(s, '%b %d %Y')
last = lambda k: k.split('node_modules/')[-1]
short = lambda f: f.replace('/home/ci/project/django/', '')
# d per document: what the expressions see
LOAD = {MV: lambda: J(MV), RE: lambda: J(RE), LK: lambda: {k: v for k, v in J(LK)['packages'].items() if k},
        PI: lambda: J(PI)['install'], CM: lambda: J(CM)['packages'], EQ: lambda: [dict(f['properties'], id=f['id'], depth=f['geometry']['coordinates'][2], lon=f['geometry']['coordinates'][0], lat=f['geometry']['coordinates'][1]) for f in J(EQ)['features']],
        BF: lambda: J(BF), CK: lambda: NL(CK), RU: lambda: NL(RU), AI: lambda: CSV(AI), BI: lambda: CSV(BI),
        DP: lambda: [dict(zip(DPF, l.split('\t'))) for l in raw(DP).rstrip('\n').split('\n')]}
_b = CSV(BI)

BIRD_RARE = ['GULFSTREAM V', 'SIKORSKY S-76', 'B-1B', 'HUGHES 500']
_c = collections.Counter(x['Flight Date'] for x in _b if int(x['Cost Repair']) > 0)
BIRD_DATES = [x['Flight Date'] for x in _b if int(x['Cost Repair']) > 5000 and _c[x['Flight Date']] == 1][::25][:4]
FAM = []
def Q(doc, typ, expr, q, w1, w2, w3, *params):
    FAM.append((doc, typ, expr, [q, w1, w2, w3], params or [()]))

def main():
    sys.path.insert(0, HERE); import families; families.define(Q, globals())
    out, bad, data = [], [], {}
    seen = set()
    for doc, typ, expr, texts, params in FAM:
        if doc not in data: data[doc] = LOAD[doc]()
        for p in params:
            p = p if isinstance(p, tuple) else (p,)
            sub = lambda s: re.sub(r'\$(\d)', lambda m: str(p[int(m.group(1))-1]), s)
            e, ts = sub(expr), [sub(t) for t in texts]
            try:
                env = dict(globals()); env['d'] = data[doc]
                g = eval(e, env); g = [str(x) for x in (g if isinstance(g, list) else [g])]
                g = list(dict.fromkeys(g)); text = raw(doc)
                if typ == 'filter': assert 2 <= len(g) <= 12, ('filter size', len(g), g[:20])
                if typ in ('lookup', 'count'): assert len(g) == 1, ('size', g)
                if typ == 'topk': assert 1 <= len(g) <= 12
                for x in g:
                    assert x and len(x) < 200, ('len', x)
                    if typ != 'count': assert x in text or json.dumps(x, ensure_ascii=True)[1:-1] in text, ('absent', x)
                    if typ != 'count': assert x in text, ('escaped', x)
                    for t in ts:
                        hit = re.search(r'(?<![\w.])' + re.escape(x) + r'(?![\w])', t, re.I)
                        assert not hit, ('gold in question', x, t)
                assert ts[0] not in seen, ('dup', ts[0]); seen.add(ts[0])
                assert len(set(ts)) == 4
            except Exception as ex:
                bad.append((doc, typ, e, repr(ex)[:300])); continue
            out.append(dict(doc=doc, type=typ, question=ts[0], wordings=ts[1:], gold=g, program=e))
    try:
        import prose
        for doc, q, w1, w2, w3, gold in prose.P:
            gold = [gold] if isinstance(gold, str) else gold; t = raw(doc)
            err = None
            for x in gold:
                if x not in t: err = ('absent', x)
                for s in (q, w1, w2, w3):
                    if re.search(r'(?<!\w)' + re.escape(x) + r'(?!\w)', s, re.I): err = ('gold in question', x, s)
            if len({q, w1, w2, w3}) < 4: err = 'wordings'
            if err: bad.append((doc, 'prose', q, err)); continue
            out.append(dict(doc=doc, type='prose', question=q, wordings=[w1, w2, w3], gold=gold, program='phrase marked by hand in the document; checked: occurs %d time(s)' % t.count(gold[0])))
    except ModuleNotFoundError: pass
    for i, o in enumerate(out):
        out[i] = dict(id='q%03d' % (i + 1), **o)
    with open(os.path.join(HERE, 'questions.jsonl'), 'w', encoding='utf-8') as f:
        for o in out: f.write(json.dumps(o, ensure_ascii=False) + '\n')
    c = collections.Counter((o['doc'], o['type']) for o in out)
    for k in sorted(c): print(*k, c[k])
    print(collections.Counter(o['type'] for o in out), len(out))
    for b in bad: print('BAD', *b)
    return bool(bad)
if __name__ == '__main__': sys.exit(main())
