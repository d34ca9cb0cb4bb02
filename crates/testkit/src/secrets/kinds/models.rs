//! Services with language models.

use super::{Kind, keyed, token};

pub(super) const KINDS: &[Kind] = &[
    token(
        "openai-key",
        "OPENAI_API_KEY",
        "sk-@{alnum:20}T3BlbkFJ@{alnum:20}",
    ),
    token(
        "openai-project-key",
        "OPENAI_API_KEY",
        "sk-proj-@{url:74}T3BlbkFJ@{url:74}",
    ),
    token(
        "openai-service-key",
        "OPENAI_API_KEY",
        "sk-svcacct-@{url:74}T3BlbkFJ@{url:74}",
    ),
    token(
        "openai-admin-key",
        "OPENAI_ADMIN_KEY",
        "sk-admin-@{url:58}T3BlbkFJ@{url:58}",
    ),
    token(
        "anthropic-key",
        "ANTHROPIC_API_KEY",
        "sk-ant-api03-@{url:93}AA",
    ),
    token(
        "anthropic-admin-key",
        "ANTHROPIC_ADMIN_KEY",
        "sk-ant-admin01-@{url:93}AA",
    ),
    token("hugging-face-token", "HF_TOKEN", "hf_@{letters:34}"),
    keyed("cohere-key", "COHERE_API_KEY", "@{alnum:40}"),
    token("replicate-token", "REPLICATE_API_TOKEN", "r8_@{alnum:37}"),
    token("groq-key", "GROQ_API_KEY", "gsk_@{alnum:52}"),
    token("xai-key", "XAI_API_KEY", "xai-@{alnum:80}"),
    token("perplexity-key", "PERPLEXITY_API_KEY", "pplx-@{alnum:48}"),
    token("openrouter-key", "OPENROUTER_API_KEY", "sk-or-v1-@{hex:64}"),
    keyed("mistral-key", "MISTRAL_API_KEY", "@{alnum:32}"),
    token("deepseek-key", "DEEPSEEK_API_KEY", "sk-@{hex:32}"),
    keyed("wandb-key", "WANDB_API_KEY", "@{hex:40}"),
    token(
        "langsmith-key",
        "LANGSMITH_API_KEY",
        "lsv2_pt_@{hex:32}_@{hex:10}",
    ),
    token("tavily-key", "TAVILY_API_KEY", "tvly-dev-@{alnum:32}"),
];
