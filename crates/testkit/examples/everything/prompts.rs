//! The prompts and their messages.

use rmcp::ErrorData;
use rmcp::model::{GetPromptRequestParams, GetPromptResponse, GetPromptResult, Prompt};
use serde_json::{Value, json};

use crate::rounds::{self, ask};
use crate::tools::{PIXEL, typed};

pub(crate) fn all() -> Vec<Prompt> {
    typed(json!([
        {"name": "test_simple_prompt", "description": "A prompt without arguments"},
        {"name": "test_prompt_with_arguments", "description": "A prompt with two arguments", "arguments": [
            {"name": "arg1", "description": "The first", "required": true},
            {"name": "arg2", "description": "The second", "required": true},
        ]},
        {"name": "test_prompt_with_embedded_resource", "description": "A prompt with a resource in it", "arguments": [
            {"name": "resourceUri", "description": "The resource", "required": true},
        ]},
        {"name": "test_prompt_with_image", "description": "A prompt with an image in it"},
        {"name": "test_input_required_result_prompt", "description": "A prompt that asks back"},
    ]))
}

pub(crate) fn get(request: &GetPromptRequestParams) -> Result<GetPromptResponse, ErrorData> {
    let argument = |name: &str| {
        let arguments = request.arguments.as_ref();
        let value = arguments.and_then(|all| all.get(name));
        value.and_then(Value::as_str).unwrap_or_default()
    };
    let says = |text: String| json!({"type": "text", "text": text});
    let contents = match request.name.as_str() {
        "test_simple_prompt" => vec![says("This is a simple prompt for testing.".to_owned())],
        "test_prompt_with_arguments" => {
            let (first, second) = (argument("arg1"), argument("arg2"));
            let text = format!("Prompt with arguments: arg1='{first}', arg2='{second}'");
            vec![says(text)]
        }
        "test_prompt_with_embedded_resource" => vec![
            json!({"type": "resource", "resource": {
                "uri": argument("resourceUri"), "mimeType": "text/plain",
                "text": "Embedded resource content for testing.",
            }}),
            says("Please process the embedded resource above.".to_owned()),
        ],
        "test_prompt_with_image" => vec![
            json!({"type": "image", "data": PIXEL, "mimeType": "image/png"}),
            says("Please analyze the image above.".to_owned()),
        ],
        "test_input_required_result_prompt" => {
            let answered = request.input_responses.as_ref();
            let answer = answered.and_then(|all| all.get("user_context"));
            let Some(answer) = answer else {
                let question = ask("What context should the prompt use?", "context", "string");
                return Ok(rounds::required(json!({"user_context": question}), None).into());
            };
            let context = answer["content"]["context"].as_str().unwrap_or("?");
            vec![says(format!("Use the following context: {context}"))]
        }
        _ => return Err(ErrorData::invalid_params("no such prompt", None)),
    };
    let messages: Vec<Value> = contents
        .into_iter()
        .map(|content| json!({"role": "user", "content": content}))
        .collect();
    Ok(typed::<GetPromptResult>(json!({"resultType": "complete", "messages": messages})).into())
}
