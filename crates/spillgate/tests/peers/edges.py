"""The part of the corpus that no well-behaved client sends: odd spellings, wrong arguments, large
results, broken frames. `record_corpus.py` adds it to what it recorded."""

from __future__ import annotations

import json
from itertools import count

from corpus import Session, Step

VERSIONS = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28", "1.0", ""]

CAPABILITIES = '{"roots":{"listChanged":true},"sampling":{},"elicitation":{}}'

# For each server: tool, and arguments as they are spelled.
CALLS: dict[str, list[tuple[str, str]]] = {
    "everything": [
        ("echo", '{"message":"Grüße \\u2028 \\ud83c\\udfac \\u0000\\u001f \\/ k\\u00e4se"}'),
        ("echo", '{"message":"<FILL 100000>"}'),
        ("echo", '{"message":"half \\ud83d of a smiley"}'),
        ("echo", '{"message":"half \\ud83d of a smiley, <FILL 70000>"}'),
        ("echo", '{"message":1.0}'),
        ("echo", "{}"),
        ("echo", "null"),
        ("echo", '{"message":"twice","message":"the same key"}'),
        ("get-sum", '{"a":1.0,"b":1e2}'),
        ("get-sum", '{"a":9007199254740993,"b":12345678901234567890}'),
        ("get-sum", '{"a":-0.0,"b":1e-320}'),
        ("get-sum", '{"a":1E400,"b":0}'),
        ("get-sum", '{"a":"one","b":2}'),
        ("get-tiny-image", "{}"),
        ("get-annotated-message", '{"messageType":"error","includeImage":true}'),
        ("get-annotated-message", '{"messageType":"debug","includeImage":false}'),
        ("get-resource-links", '{"count":10}'),
        ("get-resource-links", '{"count":11}'),
        ("get-resource-reference", '{"resourceType":"Text","resourceId":3}'),
        ("get-resource-reference", '{"resourceType":"Blob","resourceId":2}'),
        ("get-structured-content", '{"location":"New York"}'),
        ("get-structured-content", '{"location":"Atlantis"}'),
        ("get-env", "{}"),
        ("toggle-simulated-logging", "{}"),
        ("toggle-simulated-logging", "{}"),
        ("toggle-subscriber-updates", "{}"),
        ("toggle-subscriber-updates", "{}"),
        ("trigger-long-running-operation", '{"duration":0.2,"steps":2}'),
        (
            "gzip-file-as-resource",
            '{"name":"x.gz","data":"data:text/plain,spill","outputType":"resource"}',
        ),
        (
            "gzip-file-as-resource",
            '{"name":"y.gz","data":"data:text/plain,spill","outputType":"resourceLink"}',
        ),
        ("no-such-tool", "{}"),
    ],
    "filesystem": [
        ("read_text_file", '{"path":"<PLACE>/small.txt"}'),
        ("read_text_file", '{"path":"<PLACE>/numbers.json","head":1}'),
        ("read_text_file", '{"path":"<PLACE>/large.log"}'),
        ("read_text_file", '{"path":"<PLACE>/large.log","tail":3}'),
        ("read_text_file", '{"path":"<PLACE>/large.log","head":3,"tail":3}'),
        ("read_text_file", '{"path":"<PLACE>/odd.txt"}'),
        ("read_text_file", '{"path":"<PLACE>/sub/empty.txt"}'),
        ("read_text_file", '{"path":"<PLACE>/missing"}'),
        ("read_text_file", '{"path":"/etc/hostname"}'),
        ("read_text_file", '{"path":7}'),
        ("read_file", '{"path":"<PLACE>/small.txt"}'),
        ("read_file", '{"path":"<PLACE>/large.log"}'),
        ("read_media_file", '{"path":"<PLACE>/bytes.bin"}'),
        (
            "read_multiple_files",
            '{"paths":["<PLACE>/small.txt","<PLACE>/missing","<PLACE>/large.log"]}',
        ),
        ("list_directory", '{"path":"<PLACE>"}'),
        ("list_directory_with_sizes", '{"path":"<PLACE>","sortBy":"size"}'),
        ("directory_tree", '{"path":"<PLACE>"}'),
        ("search_files", '{"path":"<PLACE>","pattern":"**/*.txt"}'),
        ("get_file_info", '{"path":"<PLACE>/small.txt"}'),
        ("list_allowed_directories", "{}"),
        ("write_file", '{"path":"<PLACE>/new.txt","content":"\\ud83d half, <FILL 50000>"}'),
        (
            "edit_file",
            '{"path":"<PLACE>/small.txt","edits":[{"oldText":"second","newText":"2nd"}]}',
        ),
        ("create_directory", '{"path":"<PLACE>/made/deep"}'),
        ("move_file", '{"source":"<PLACE>/new.txt","destination":"<PLACE>/made/new.txt"}'),
        ("read_text_file", '{"path":"<PLACE>/made/new.txt"}'),
    ],
    "memory": [
        ("read_graph", "{}"),
        ("search_nodes", '{"query":"e199"}'),
        ("search_nodes", '{"query":"\\u0000 nothing"}'),
        ("open_nodes", '{"names":["e1","e2"]}'),
        ("open_nodes", '{"names":"e1"}'),
        (
            "create_entities",
            '{"entities":[{"name":"n\\ud83d","entityType":"t","observations":["1.0","\\u2028"]}]}',
        ),
        ("create_relations", '{"relations":[{"from":"e1","to":"e2","relationType":"r"}]}'),
        ("add_observations", '{"observations":[{"entityName":"e1","contents":["<FILL 20000>"]}]}'),
        ("open_nodes", '{"names":["e1"]}'),
        ("add_observations", '{"observations":[{"entityName":"nobody","contents":["x"]}]}'),
        ("delete_entities", '{"entityNames":["e1"]}'),
    ],
    "git": [
        ("git_status", '{"repo_path":"<PLACE>"}'),
        ("git_diff_unstaged", '{"repo_path":"<PLACE>"}'),
        ("git_diff_staged", '{"repo_path":"<PLACE>","context_lines":1}'),
        ("git_diff", '{"repo_path":"<PLACE>","target":"HEAD~1"}'),
        ("git_log", '{"repo_path":"<PLACE>","max_count":3}'),
        ("git_log", '{"repo_path":"<PLACE>","max_count":400}'),
        ("git_log", '{"repo_path":"<PLACE>","max_count":"many"}'),
        ("git_show", '{"repo_path":"<PLACE>","revision":"HEAD~3"}'),
        ("git_show", '{"repo_path":"<PLACE>","revision":"no-such"}'),
        ("git_branch", '{"repo_path":"<PLACE>","branch_type":"local"}'),
        ("git_add", '{"repo_path":"<PLACE>","files":["file0.txt"]}'),
        ("git_status", '{"repo_path":"/nowhere"}'),
        ("no-such-tool", "{}"),
    ],
    "playwright": [
        ("browser_navigate", '{"url":"data:text/html,<title>T</title><h1>Gr%C3%BC%C3%9Fe</h1>"}'),
        ("browser_snapshot", "{}"),
        ("browser_evaluate", '{"function":"() => [1.0, 1e21, \\"half \\\\ud83d\\", null]"}'),
        (
            "browser_evaluate",
            '{"function":"() => Array.from({length: 9000}, (_, i) => `row ${i} is ok`)"}',
        ),
        ("browser_evaluate", '{"function":"() => nowhere"}'),
        (
            "browser_navigate",
            '{"url":"data:text/html,<script>for(i=0;i<2500;i++)document.write(`<li>row ${i} is ok`)'
            '</script>"}',
        ),
        ("browser_snapshot", "{}"),
        ("browser_take_screenshot", '{"type":"png"}'),
        ("browser_click", '{"element":"nothing","target":"e999"}'),
        ("browser_tabs", '{"action":"list"}'),
        ("browser_close", "{}"),
    ],
}

PROMPT = '{"type":"ref/prompt","name":"completable-prompt"}'
TEMPLATE = '{"type":"ref/resource","uri":"demo://resource/dynamic/text/{resourceId}"}'

# Methods other than tools, with parameters as they are spelled. A server that lacks one answers with an error.
METHODS: list[tuple[str, str]] = [
    ("ping", ""),
    ("ping", "null"),
    ("ping", '{"_meta":{"x":1.0}}'),
    ("tools/list", '{"cursor":"no-such-page"}'),
    ("prompts/list", ""),
    ("prompts/get", '{"name":"simple-prompt"}'),
    ("prompts/get", '{"name":"args-prompt","arguments":{"city":"Łódź","state":"\\ud83d"}}'),
    ("prompts/get", '{"name":"resource-prompt","arguments":{}}'),
    ("prompts/get", '{"name":"no-such"}'),
    ("resources/list", ""),
    ("resources/read", '{"uri":"demo://resource/static/document/features.md"}'),
    ("resources/read", '{"uri":"demo://resource/dynamic/text/1"}'),
    ("resources/read", '{"uri":"demo://resource/dynamic/blob/1"}'),
    ("resources/read", '{"uri":"demo://nowhere"}'),
    ("resources/templates/list", ""),
    ("resources/subscribe", '{"uri":"demo://resource/dynamic/text/1"}'),
    ("resources/unsubscribe", '{"uri":"demo://resource/dynamic/text/1"}'),
    (
        "completion/complete",
        f'{{"ref":{PROMPT},"argument":{{"name":"department","value":"E"}}}}',
    ),
    (
        "completion/complete",
        f'{{"ref":{TEMPLATE},"argument":{{"name":"resourceId","value":"1"}}}}',
    ),
    ("completion/complete", '{"ref":{"type":"odd"}}'),
    ("logging/setLevel", '{"level":"error"}'),
    ("logging/setLevel", '{"level":"loud"}'),
    ("tasks/list", ""),
    ("tasks/get", '{"taskId":"none"}'),
    ("server/discover", '{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}'),
    ("no/such", "[1.0]"),
    ("rpc.discover", "{}"),
]

# Frames that are not valid requests: the answers, if any, must also come back through the gateway.
BROKEN: list[tuple[str, bytes]] = [
    ("an empty line", b""),
    ("no JSON", b"hello"),
    ("half a message", b'{"jsonrpc":"2.0","id":900,"method":"pi'),
    ("a number", b"42"),
    ("not UTF-8", b'{"jsonrpc":"2.0","method":"notifications/odd","params":{"x":"\xff\xfe"}}'),
    ("no version", b'{"id":901,"method":"ping"}'),
    ("version 1", b'{"jsonrpc":"1.0","id":902,"method":"ping"}'),
    ("a method that is no text", b'{"jsonrpc":"2.0","id":903,"method":7}'),
    ("id null", b'{"jsonrpc":"2.0","id":null,"method":"ping"}'),
    ("id 1.5", b'{"jsonrpc":"2.0","id":1.5,"method":"ping"}'),
    ("an id that is a list", b'{"jsonrpc":"2.0","id":[1],"method":"ping"}'),
    ("an answer to nothing", b'{"jsonrpc":"2.0","id":"nobody","result":{}}'),
    ("an empty batch", b"[]"),
    (
        "a batch",
        b'[{"jsonrpc":"2.0","id":910,"method":"ping"},{"jsonrpc":"2.0","id":911,"method":"no/such"}]',
    ),
    ("a notification that nobody knows", b'{"jsonrpc":"2.0","method":"notifications/odd"}'),
    ("cancelled: nothing", b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}'),
    (
        "cancelled: no such request",
        b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"none"}}',
    ),
    (
        "progress for nobody",
        b'{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}',
    ),
    ("roots changed", b'{"jsonrpc":"2.0","method":"notifications/roots/list_changed"}'),
]

INITIALIZED = Step(b'{"jsonrpc":"2.0","method":"notifications/initialized"}')


def initialize(version: str, capabilities: str = "{}") -> Step:
    """The first request."""
    frame = (
        '{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":'
        f'{json.dumps(version)},"capabilities":{capabilities},'
        '"clientInfo":{"name":"edges","version":"1"}}}'
    )
    return Step(frame.encode(), reply="first")


def request(identity: int | str, method: str, params: str, **more: object) -> Step:
    """A request with parameters as they are spelled."""
    given = f',"params":{params}' if params else ""
    frame = f'{{"jsonrpc":"2.0","id":{json.dumps(identity)},"method":"{method}"{given}}}'
    return Step(frame.encode(), reply=identity, **more)


def call(identity: int | str, tool: str, arguments: str, more: str = "", **how: object) -> Step:
    """A call of a tool."""
    params = f'{{"name":{json.dumps(tool)},"arguments":{arguments}{more}}}'
    return request(identity, "tools/call", params, **how)


def versions(server: str) -> list[Session]:
    """A session for each version that a client may request."""
    sessions = []
    for version in VERSIONS:
        steps = [initialize(version), INITIALIZED, request(2, "ping", ""), request(3, "tools/list", "")]
        sessions.append(Session(server, f"asks for {version or 'no version'}", steps))
    return sessions


def calls(server: str) -> Session:
    """Calls of every tool with its arguments."""
    numbers = count(1)
    steps = [initialize("2025-11-25"), INITIALIZED]
    for tool, arguments in CALLS[server]:
        number = next(numbers)
        # Ids of all kinds, in turn.
        steps.append(call(number if number % 3 else f"a b {number} ä", tool, arguments))
    return Session(server, "calls", [*steps, request("last", "tools/list", "{}")])


def methods(server: str) -> Session:
    """Everything that is not a tool, then everything that is broken."""
    steps = [initialize("2025-06-18"), INITIALIZED]
    steps += [request(n, *given) for n, given in enumerate(METHODS, 100)]
    steps += [Step(frame, name) for name, frame in BROKEN]
    return Session(server, "methods", [*steps, request("last", "ping", "")])


def spellings() -> Session:
    """Ordinary frames in unusual spellings."""
    odd = [
        (9007199254740991, b'{ "method" : "ping" , "id" : 9007199254740991, "jsonrpc" : "2.0" }'),
        ("a b ä", b'{"jsonrpc":"2.0","id":"a b \\u00e4","method":"ping"}\r'),
        (
            0,
            b'{"jsonrpc":"2.0","id":0,"method":"tools\\/call","params":{"arguments":{"message":"k\xc3\xa4'
            b'se"},"name":"ec\\u0068o","unknown":[1.0]}}',
        ),
        (-1, b'\t{"params":{},"id":-1,"jsonrpc":"2.0","method":"tools/list","more":{"x":1e2}} '),
    ]
    steps = [initialize("2025-11-25"), INITIALIZED]
    steps += [Step(frame, reply=identity) for identity, frame in odd]
    return Session("everything", "spellings", steps)


def side_by_side() -> Session:
    """Concurrent requests with progress, one of them cancelled."""
    slow = "trigger-long-running-operation"
    steps = [
        initialize("2025-11-25"),
        INITIALIZED,
        call("s1", slow, '{"duration":1,"steps":4}', ',"_meta":{"progressToken":"p 1"}', later=True),
        call("s2", slow, '{"duration":0.5,"steps":2}', ',"_meta":{"progressToken":2}', later=True),
        call("s3", "echo", '{"message":"<FILL 90000>"}', ',"_meta":{"progressToken":0}', later=True),
        call("s4", "echo", '{"message":"small"}', ',"task":{"ttl":1000}', later=True),
        call(5, slow, '{"duration":60,"steps":60}'),
        Step(
            b'{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":5,'
            b'"reason":"enough"}}'
        ),
        call(6, "echo", '{"message":"after that"}'),
    ]
    # A cancelled request has no reply.
    steps[6].reply = None
    return Session("everything", "side by side", steps)


def asking() -> Session:
    """The server sends requests to the client."""
    roots = '{"roots":[{"uri":"file:///somewhere","name":"Größe"}]}'
    said = '{"role":"assistant","model":"m","content":{"type":"text","text":"\\u2028 1.0"}}'
    steps = [
        initialize("2025-11-25", CAPABILITIES),
        INITIALIZED,
        Step(f'{{"jsonrpc":"2.0","id":0,"result":{roots}}}'.encode(), "roots", after=0),
        call(1, "get-roots-list", "{}"),
        call(2, "trigger-sampling-request", '{"prompt":"Hi","maxTokens":5}', later=True),
        Step(f'{{"jsonrpc":"2.0","id":1,"result":{said}}}'.encode(), "a model", after=1),
        call(3, "trigger-elicitation-request", "{}", later=True),
        Step(b'{"jsonrpc":"2.0","id":2,"result":{"action":"decline"}}', "a person", after=2),
        call(4, "trigger-sampling-request", '{"prompt":"Hi"}', later=True),
        Step(
            b'{"jsonrpc":"2.0","id":3,"error":{"code":-1,"message":"no \\ud83d model"}}',
            "no model",
            after=3,
        ),
        request(5, "tools/list", ""),
    ]
    return Session("everything", "asking back", steps)


def sessions() -> list[Session]:
    """All these sessions."""
    found = versions("everything") + versions("git")[3:5]
    found += [calls(server) for server in CALLS]
    found += [methods("everything"), methods("filesystem"), methods("git")]
    return [*found, spellings(), side_by_side(), asking()]
