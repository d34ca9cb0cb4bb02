//! Tests that the Markdown of a page contains the content of the page and nothing else.

use reqwest::Url;

use super::markdown;

fn text(html: &str) -> String {
    let url = Url::parse("https://example.com/docs/page.html?q=1").unwrap();
    let (title, text) = markdown(html, &url);
    match title {
        Some(title) => format!("TITLE {title}\n{text}"),
        None => text,
    }
}

#[test]
fn a_whole_page() {
    let page = r##"<!DOCTYPE html><html><head><title>
        A page &amp; its &lt;title&gt; </title><style>p { color: red }</style>
        <script>if (a < b) document.write("<p>no</p>")</script></head>
        <body><nav><ul><li><a href="/">Home</a></ul></nav>
        <header><h1>Heading</h1></header>
        <svg><title>drawn</title><text>drawn</text></svg>
        <p>One <b>bold</b>, <em>em</em>, <code>code</code> and a
        <a href="other.html" title="t">link</a>, <a href="//cdn.example/x">far</a>,
        <a href="#here">here</a>, <a href="javascript:alert(1)">script</a>,
        <a href="mailto:a@example.com">mail</a>.
        <p>Second<br>line <img src="pic.png" alt="a  picture"> <img src="data:image/png;base64,AAAA" alt="inline"> <img src="x.gif">
        <form action="/go"><label>Name <input name="n"></label><select><option>one</select><button>Go</button></form>
        <hr><footer>Foot</footer><noscript>No script</noscript></body></html>"##;
    insta::assert_snapshot!(text(page), @"
    TITLE A page & its <title>
    # Heading

    One **bold**, *em*, `code` and a [link](https://example.com/docs/other.html), [far](https://cdn.example/x), here, script, [mail](mailto:a@example.com). 

    Second  
    line ![a picture](https://example.com/docs/pic.png) inline 

    Name 

    * * *

    Foot
    ");
}

#[test]
fn lists_and_quotes() {
    let page = r#"<ul><li>one<li>two<ol start="9"><li>nine<li>ten</ol><li><p>three</p><p>more</p></ul>
        <blockquote><p>quoted</p><blockquote>twice</blockquote></blockquote>
        <dl><dt>term<dd>what it is<dt>other<dd>that</dl>
        <p>*not* _marked_ # up</p>"#;
    insta::assert_snapshot!(text(page), @r"
    - one
    - two
      9.  nine
      10. ten
    - three

      more

    > quoted
    > 
    > > twice

    term

    what it is

    other

    that

    \*not\* \_marked\_ # up
    ");
}

#[test]
fn tables_and_code() {
    let page = r#"<table><caption>Sizes</caption><thead><tr><th>Name<th>Size</thead>
        <tr><td>a|b<td>1<tr><td>c<br>d</td><td><b>2</b></td></tr></table>
        <pre><code class="hl language-rust">fn main() {
    a &lt; b;

}</code></pre>
        <pre>plain
  ```
<span>text</span><button>Copy</button></pre>
        <table><tr><td>layout</td><td>only</td></tr></table>"#;
    insta::assert_snapshot!(text(page), @"
    Sizes
    | Name  | Size  |
    | ----- | ----- |
    | a&#124;b | 1     |
    | c   d | **2** |

    ```rust
    fn main() {
        a < b;

    }
    ```

    ````
    plain
      ```
    text
    ````

    layout

    only
    ");
}

#[test]
fn tables_without_a_header_are_tables_where_they_hold_data() {
    for (page, expected) in [
        (
            "<table><tr><td>a<td>b<tr><td><p>1</p><td>2</table>",
            "| a | b |\n| - | - |\n| 1 | 2 |\n",
        ),
        ("<table><tr><td>a<td>b</table>", "a\n\nb\n"),
        ("<table><tr><td>a<td>b<tr><td>c</table>", "a\n\nb\n\nc\n"),
        ("<table><tr><td>a<tr><td>b<td>c</table>", "a\n\nb\n\nc\n"),
        (
            "<table><tr><td><h1>a</h1><td>b<tr><td>c<td>d</table>",
            "# a\n\nb\n\nc\n\nd\n",
        ),
        (
            "<table><tr><td>x<td><table><tr><td>a<td>b<tr><td>1<td>2</table><tr><td>y<td>z</table>",
            "x\n\na\n\nb\n\n1\n\n2\n\ny\n\nz\n",
        ),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

#[test]
fn the_main_part_is_taken_where_there_is_one() {
    for (page, expected) in [
        ("<p>a</p><main><p>b</p></main><p>c</p>", "b\n"),
        ("<p>a</p><div role=main>b</div>", "b\n"),
        ("<p>a</p><article>b</article>", "b\n"),
        ("<p>a</p><main>m<article>b</article></main>", "m\n\nb\n"),
        ("a<article>b</article><article>c</article>", "a\n\nb\n\nc\n"),
        ("a<main> <script>x</script></main>", "a\n"),
        ("a<main>b</main><main>c</main>", "a\n\nb\n\nc\n"),
        ("<div><main>b</div>c", "b\n"),
        ("<main>never <b>closed", "never **closed**\n"),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

#[test]
fn broken_markup_is_no_obstacle() {
    for (page, expected) in [
        ("", ""),
        ("just text", "just text\n"),
        ("<p>a<p>b<div>c", "a\n\nb\n\nc\n"),
        ("<b>a<p>b</b>c</p>", "**a\n\nb**\n\nc\n"),
        ("</div></p></table>a</b>", "a\n"),
        ("<table><b><tr><td>x</b><td>y</table>z", "x\n\ny\n\nz\n"),
        ("<td>x</td><tr>y", "xy\n"),
        (
            "<a href=/x>a<a href=/y>b</a>",
            "[a](https://example.com/x)[b](https://example.com/y)\n",
        ),
        ("<a href='http://['>bad</a>", "bad\n"),
        (
            "<base href=https://b.example/d/><a href=x>a</a>",
            "[a](https://b.example/d/x)\n",
        ),
        (
            "<base href=file:///etc/><a href=x>a</a>",
            "[a](https://example.com/docs/x)\n",
        ),
        ("<nav>x<nav>y</nav>z</nav>w", "w\n"),
        (
            "&lt;script&gt;x &amp;copy; &copy;",
            "\\<script>x &copy; ©\n",
        ),
        ("<h1>a<h2>b", "# a\n\n## b\n"),
        ("<select><option>a", ""),
    ] {
        assert_eq!(text(page), expected, "{page}");
    }
}

/// Pages that would exhaust the stack, the memory or the time if they were converted without
/// tidying.
#[test]
fn hostile_pages_are_pages() {
    let many = 20_000;
    let wide = "<td>x".repeat(5_000);
    let pages = [
        format!("{}deep", "<div>".repeat(100_000)),
        format!("{}deep", "<x>".repeat(many)),
        format!("{}deep", "<span><font>".repeat(many)),
        format!(
            "{}deep{}",
            "<b><i><a href=x>".repeat(many),
            "</div>".repeat(many)
        ),
        format!("{}deep", "<ul><li>".repeat(many)),
        format!("{}deep", "<blockquote>x<br>".repeat(many)),
        format!("{}deep", "<table><tr><td>".repeat(many)),
        format!("{}<p>deep", "<svg>".repeat(many) + &"</svg>".repeat(many)),
        format!("{}deep", "<a href=x>".to_owned() + &"<p>".repeat(many)),
        format!("deep<{}>", "a=1 ".repeat(many)),
        format!(
            "<table><tr><th>{}</tr>{}</table>deep",
            "x".repeat(many),
            "<tr><td>y".repeat(many)
        ),
        format!(
            "<table><tr><th>h{wide}</tr>{}</table>deep",
            "<tr><td>y".repeat(5_000)
        ),
        format!("<title>{}</title>deep", "t".repeat(many)),
    ];
    for page in pages {
        let told = text(&page);
        let start: String = page.chars().take(40).collect();
        assert!(told.contains("deep"), "{start}");
        assert!(
            told.len() < 40 * page.len().max(1000),
            "{start}: {}",
            told.len()
        );
    }
}

#[test]
fn short_links_do_not_become_a_flood() {
    let url = Url::parse(&format!("https://example.com/{}/", "d".repeat(20_000))).unwrap();
    let page = "<a href=x>l</a>".repeat(20_000);
    let (_, text) = markdown(&page, &url);
    assert!(text.len() < 20 << 20, "{}", text.len());
    assert!(text.ends_with("lll\n"));
}

proptest::proptest! {
    #![proptest_config(proptest::test_runner::Config::with_cases(64))]

    #[test]
    fn any_soup_of_tags_is_a_page(
        soup in proptest::collection::vec(proptest::sample::select(SOUP.as_slice()), 0..120),
    ) {
        let page = soup.concat();
        let told = text(&page);
        proptest::prop_assert!(told.len() <= 1000 + 40 * page.len(), "{} of {}", told.len(), page);
    }
}

/// Start and end tags in any order.
const SOUP: [&str; 40] = [
    "<p>",
    "</p>",
    "<div>",
    "</div>",
    "<ul>",
    "</ul>",
    "<ol start=7>",
    "</ol>",
    "<li>",
    "</li>",
    "<table>",
    "</table>",
    "<thead>",
    "</thead>",
    "<tr>",
    "</tr>",
    "<td>",
    "</td>",
    "<th>",
    "<caption>",
    "<pre>",
    "</pre>",
    "<code class=language-x>",
    "</code>",
    "<b>",
    "</b>",
    "<i>",
    "<a href=x>",
    "</a>",
    "<blockquote>",
    "</blockquote>",
    "<main>",
    "</main>",
    "<nav>",
    "</nav>",
    "<br>",
    "<h1>",
    "text ",
    "``` | *",
    "<img src=a alt=b>",
];
