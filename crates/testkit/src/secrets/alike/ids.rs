//! Numbers and names of things: identifiers, time stamps, addresses.

use super::{Kind, kind};

pub(super) const KINDS: &[Kind] = &[
    kind(
        "uuid",
        &[
            "{\"id\":\"@{uuid}\",\"name\":\"@{name}\",\"created\":\"@{time}\"}",
            "@{uuid} @{word}\n@{uuid} @{word}\n@{uuid} @{word}\n",
            "UUID=@{uuid} /srv/@{word} ext4 defaults 0 2\n",
            "urn:uuid:@{uuid}\n",
            "@{time} INFO @{word} @{uuid} finished in @{1-900} ms\n",
            "correlation_id: @{uuid}\ntenant_id: @{uuid}\n",
        ],
    ),
    kind(
        "ulid",
        &[
            "{\"id\":\"01@{crockford:24}\",\"@{word}\":@{1-900}}",
            "@{time} created @{word} 01@{crockford:24}\n",
            "order 01@{crockford:24} moved to @{word} @{1-90}\n",
        ],
    ),
    kind(
        "short-id",
        &[
            "{\"_id\":\"6@{hex:23}\",\"@{word}\":\"@{word}\"}",
            "ObjectId(\"6@{hex:23}\")\n",
            "{\"id\":\"c@{lower:24}\",\"@{word}\":@{1-900}}",
            "https://@{host}/@{word}/@{url:21}\n",
            "https://www.youtube.com/watch?v=@{url:11}\n",
            "snowflake id 1@{digits:18} in @{word}\n",
            "https://docs.google.com/document/d/1@{url:43}/edit\n",
        ],
    ),
    kind(
        "tool-call-id",
        &[
            "{\"type\":\"tool_use\",\"id\":\"toolu_01@{base58:22}\",\"name\":\"@{word}\",\"input\":{}}",
            "{\"tool_call_id\":\"call_@{alnum:24}\",\"role\":\"tool\",\"content\":\"@{sentence}\"}",
            "{\"id\":\"msg_01@{base58:22}\",\"type\":\"message\",\"role\":\"assistant\"}",
            "{\"id\":\"chatcmpl-@{alnum:29}\",\"object\":\"chat.completion\",\"created\":17@{digits:8}}",
            "{\"id\":\"resp_@{hex:48}\",\"object\":\"response\"}",
            "anthropic request-id: req_01@{base58:22}\n",
            "x-request-id: req_@{hex:32}\n",
            "{\"id\":\"run_@{alnum:24}\",\"thread_id\":\"thread_@{alnum:24}\",\"assistant_id\":\"asst_@{alnum:24}\"}",
            "{\"file_id\":\"file-@{alnum:24}\",\"bytes\":@{1000-90000}}",
            "{\"system_fingerprint\":\"fp_@{hex:10}\",\"model\":\"gpt-4o\"}",
        ],
    ),
    kind(
        "time-stamp",
        &[
            "{\"startTimeUnixNano\":\"17@{digits:17}\",\"endTimeUnixNano\":\"17@{digits:17}\"}",
            "17@{digits:8}.@{digits:6} @{word} @{word}\n17@{digits:8}.@{digits:6} @{word} @{word}\n",
            "ts=17@{digits:11} level=info msg=\"@{sentence}\"\n",
            "cpu,host=@{word} usage=@{1-99}.@{digits:6} 17@{digits:17}\n",
        ],
    ),
    kind(
        "trace-id",
        &[
            "traceparent: 00-@{hex:32}-@{hex:16}-01\n",
            "{\"traceId\":\"@{hex:32}\",\"spanId\":\"@{hex:16}\",\"parentSpanId\":\"@{hex:16}\"}",
            "@{time} INFO [@{word},@{hex:32},@{hex:16}] @{sentence}\n",
            "X-B3-TraceId: @{hex:32}\nX-B3-SpanId: @{hex:16}\nX-B3-Sampled: 1\n",
            "X-Amzn-Trace-Id: Root=1-@{hex:8}-@{hex:24};Sampled=1\n",
            "X-Cloud-Trace-Context: @{hex:32}/@{digits:18};o=1\n",
        ],
    ),
    kind(
        "request-id",
        &[
            "X-Request-Id: @{hex:32}\nContent-Type: application/json\n",
            "x-amz-request-id: @{upper:16}\nx-amz-id-2: @{bytes:56}\n",
            "{\"requestId\":\"@{uuid}\",\"statusCode\":@{200|404|500}}",
            "CF-RAY: @{hex:16}-FRA\nServer: cloudflare\n",
            "X-GitHub-Request-Id: @{HEX:4}:@{HEX:5}:@{HEX:7}:@{HEX:7}:@{HEX:8}\n",
            "X-Correlation-ID: @{alnum:22}\nVia: 1.1 @{host}\n",
        ],
    ),
    kind(
        "kubernetes-name",
        &[
            "@{word}-@{hex:10}-@{base32:5}   1/1   Running   @{0-9}   @{1-90}d\n\
         @{word}-@{word}-@{hex:9}-@{base32:5}   0/1   Pending   0   @{1-90}m\n",
            "pod/@{word}-@{hex:8}-@{base32:5} condition met\n",
            "Normal  Scheduled  @{1-90}s  default-scheduler  Successfully assigned @{word}/@{word}-@{hex:10}-@{base32:5}\n",
            "resourceVersion: \"@{digits:9}\"\nuid: @{uuid}\npod-template-hash: @{hex:10}\n",
        ],
    ),
    kind(
        "cloud-name",
        &[
            "arn:aws:iam::@{digits:12}:role/@{word}-@{word}\n",
            "arn:aws:lambda:eu-west-1:@{digits:12}:function:@{word}-@{word}:@{1-90}\n",
            "arn:aws:sts::@{digits:12}:assumed-role/@{Word}@{Word}/i-0@{hex:16}\n",
            "{\"InstanceId\":\"i-0@{hex:16}\",\"VpcId\":\"vpc-0@{hex:16}\",\"SubnetId\":\"subnet-0@{hex:16}\"}",
            "projects/@{word}-@{digits:6}/locations/europe-west4/services/@{word}\n",
            "/subscriptions/@{uuid}/resourceGroups/@{word}/providers/Microsoft.Storage/storageAccounts/@{word}@{10-99}\n",
            "{\"Account\":\"@{digits:12}\",\"UserId\":\"AROA@{BASE32:17}:@{name}\"}",
        ],
    ),
    kind(
        "bucket",
        &[
            "s3://@{word}-@{word}-@{digits:12}-eu-west-1/@{word}/@{date}/part-@{digits:5}.parquet\n",
            "https://@{word}-@{word}.s3.amazonaws.com/@{word}/@{uuid}/@{word}.png\n",
            "gs://@{word}-@{hex:8}/@{word}/@{word}-@{digits:8}.csv\n",
            "https://@{word}@{10-99}.blob.core.windows.net/@{word}/@{uuid}.json\n",
            "https://storage.googleapis.com/@{word}-@{word}/@{hex:32}/@{word}.tar.gz\n",
        ],
    ),
    kind(
        "network-address",
        &[
            "inet @{ip}/24 brd 10.0.0.255 scope global eth0\nlink/ether @{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}\n",
            "inet6 2001:db8:@{hex:4}:@{hex:4}:@{hex:4}:@{hex:4}:@{hex:4}:@{hex:4}/64 scope global\n",
            "@{ip}:@{1024-9999} -> @{ip}:443 ESTABLISHED\n",
            "@{HEX:2}-@{HEX:2}-@{HEX:2}-@{HEX:2}-@{HEX:2}-@{HEX:2}    dynamic   @{ip}\n",
            "neighbour fe80::@{hex:4}:@{hex:4}:@{hex:4}:@{hex:4} lladdr @{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2}:@{hex:2} STALE\n",
        ],
    ),
    kind(
        "serial-number",
        &[
            "Serial Number: @{upper:12}\nModel: @{Word} @{100-900}\n",
            "ID_SERIAL_SHORT=S@{upper:14}\nID_MODEL=@{Word}_SSD_@{100-900}GB\n",
            "IMEI: 35@{digits:13}\nFirmware: @{semver}\n",
            "ISBN 978-@{0-9}-@{digits:4}-@{digits:4}-@{0-9}\n",
            "Part No. @{letters:3}-@{digits:6}-@{upper:4}, lot @{digits:8}\n",
        ],
    ),
    kind(
        "phone-number",
        &[
            "@{Word} office: +49 30 @{digits:4} @{digits:4}\n@{Word} desk: +44 20 7946 0@{digits:3}\n",
            "{\"name\":\"@{name}\",\"phone\":\"+1-202-555-01@{digits:2}\"}",
            "call @{name} at (555) 01@{digits:1}-@{digits:4}\n",
        ],
    ),
    kind(
        "card-like-number",
        &[
            "order @{digits:16} shipped on @{date}\n",
            "reference @{digits:4} @{digits:4} @{digits:4} @{digits:4}, @{sentence}\n",
            "tracking 1Z@{upper:16}\ntracking @{digits:22}\n",
            "invoice no. @{digits:4}-@{digits:4}-@{digits:4}-@{digits:4}\n",
        ],
    ),
    kind(
        "service-id",
        &[
            "{\"id\":\"cus_@{alnum:14}\",\"object\":\"customer\",\"email\":\"@{email}\"}",
            "{\"id\":\"pi_3@{alnum:23}\",\"object\":\"payment_intent\",\"amount\":@{100-90000}}",
            "{\"id\":\"evt_1@{alnum:23}\",\"type\":\"invoice.paid\"}",
            "{\"sid\":\"SM@{hex:32}\",\"status\":\"delivered\"}",
            "{\"channel\":\"C0@{upper:9}\",\"user\":\"U0@{upper:9}\",\"team\":\"T0@{upper:9}\"}",
            "price_1@{alnum:23} @{word} monthly\nprod_@{alnum:14} @{word}\n",
        ],
    ),
    kind(
        "public-service-key",
        &[
            "const stripe = Stripe('pk_live_51@{alnum:97}');\n",
            "NEXT_PUBLIC_STRIPE_PUBLISHABLE_KEY=pk_live_@{alnum:24}\n",
            "gtag('config', 'G-@{upper:10}');\n",
            "ga('create', 'UA-@{digits:8}-@{1-9}', 'auto');\n",
            "<script src=\"https://www.googletagmanager.com/gtag/js?id=G-@{upper:10}\"></script>\n",
            "<!-- Google Tag Manager: GTM-@{upper:7} -->\n",
        ],
    ),
    kind(
        "package-table",
        &[
            "ii  passwd         1:@{semver}+dfsg1-1+deb12u1  amd64  change passwords\nii  @{word}  @{semver}-1  amd64  @{word}\n",
            "passwd.x86_64    0.@{1-90}-14.fc39   @anaconda\npasswd           0.@{1-90}-14.fc39   @updates\n",
            "Package             Version\npassword-strength   @{semver}.post2\n@{word}        @{semver}\n",
            "NAME            READY   STATUS    RESTARTS   AGE\npasswd-@{word}   1/1     Running   0          @{1-90}d\npasswd          v@{semver}   Running   0   @{1-90}d\n",
            "drwxr-xr-x root root 4096 @{word}  passwd  1:@{semver}-2\n",
        ],
    ),
];
