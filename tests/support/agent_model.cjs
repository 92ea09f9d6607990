// agent_model.cjs - stands in for the models of agents, on loopback: the first turn asks for one shell
// command (MODEL_COMMAND), the next one ends. Messages API (Claude Code), Responses API (Codex),
// generateContent (Gemini CLI), chat completions (OpenCode, Qwen Code). MODEL_LOG gets a line for each request, and what the command printed.
const http = require('http'), fs = require('fs');
const command = process.env.MODEL_COMMAND;
const log = (text) => fs.appendFileSync(process.env.MODEL_LOG, text + '\n');
const all = (list, key) => (list || []).flatMap((m) => (Array.isArray(m[key]) ? m[key] : []));

function stream(answer, events) {
	answer.writeHead(200, {'content-type': 'text/event-stream'});
	for (const e of events)
		answer.write((e.type ? `event: ${e.type}\n` : '') + `data: ${JSON.stringify(e)}\n\n`);
	answer.end();
}

function json(answer, status, value) {
	answer.writeHead(status, {'content-type': 'application/json'});
	answer.end(JSON.stringify(value));
}

function messages(body, answer) {
	const last = body.messages[body.messages.length - 1];
	const result = all([last], 'content').find((c) => c.type === 'tool_result');
	const has = (body.tools || []).some((t) => t.name === 'Bash');
	const asks = has && !result;
	if (result)
		log('RESULT ' + JSON.stringify(result.content));
	log(`MESSAGES ${body.messages.length}`);
	const message = {id: 'm', type: 'message', role: 'assistant', model: body.model, content: [],
		stop_reason: null, stop_sequence: null, usage: {input_tokens: 1, output_tokens: 1}};
	const block = asks ? {type: 'tool_use', id: 't' + Date.now(), name: 'Bash', input: {}} : {type: 'text', text: ''};
	const delta = asks ? {type: 'input_json_delta', partial_json: JSON.stringify({command, description: 'x'})}
			   : {type: 'text_delta', text: 'finished'};
	const stop = asks ? 'tool_use' : 'end_turn';
	if (!body.stream)
		return json(answer, 200, {...message, stop_reason: 'end_turn', content: [{type: 'text', text: 'finished'}]});
	stream(answer, [{type: 'message_start', message}, {type: 'content_block_start', index: 0, content_block: block},
		{type: 'content_block_delta', index: 0, delta}, {type: 'content_block_stop', index: 0},
		{type: 'message_delta', delta: {stop_reason: stop, stop_sequence: null}, usage: {output_tokens: 1}},
		{type: 'message_stop'}]);
}

function responses(body, answer) {
	const last = body.input[body.input.length - 1], has = /_output$/.test(last.type || '');
	if (has)
		log('RESULT ' + JSON.stringify(last.output));
	log(`MESSAGES ${body.input.length}`);
	const item = has ? {type: 'message', role: 'assistant', id: 'm', content: [{type: 'output_text', text: 'finished'}]}
			 : {type: 'function_call', id: 'f', call_id: 'c' + Date.now(), name: 'exec_command',
				arguments: JSON.stringify({cmd: command})};
	stream(answer, [{type: 'response.created', response: {id: 'r'}},
		{type: 'response.output_item.done', output_index: 0, item},
		{type: 'response.completed', response: {id: 'r', output: [item], usage: {input_tokens: 1, output_tokens: 1,
			total_tokens: 2, input_tokens_details: {cached_tokens: 0},
			output_tokens_details: {reasoning_tokens: 0}}}}]);
}

function generate(body, answer, streams) {
	const result = all(body.contents, 'parts').find((p) => p.functionResponse);
	const has = JSON.stringify(body.tools || '').includes('run_shell_command');
	if (result)
		log('RESULT ' + JSON.stringify(result.functionResponse.response));
	const part = result || !has ? {text: has ? 'finished' : '{"complexity_reasoning":"x","complexity_score":1}'}
				    : {functionCall: {name: 'run_shell_command', args: {command, description: 'x'}}};
	const value = {candidates: [{content: {role: 'model', parts: [part]}, finishReason: 'STOP', index: 0}],
		usageMetadata: {promptTokenCount: 1, candidatesTokenCount: 1, totalTokenCount: 2}, modelVersion: 'm'};
	return streams ? stream(answer, [value]) : json(answer, 200, value);
}

function chat(body, answer) {
	const tool = (body.tools || []).map((t) => t.function.name).find((n) => /^(bash|run_shell_command)$/.test(n));
	const result = body.messages[body.messages.length - 1].role === 'tool' && body.messages[body.messages.length - 1];
	if (result)
		log('RESULT ' + JSON.stringify(result.content));
	log(`MESSAGES ${body.messages.length}`);
	const head = {id: 'c', object: 'chat.completion.chunk', created: 1, model: body.model};
	const asks = tool && !result;
	const call = {index: 0, id: 'c' + Date.now(), type: 'function',
		function: {name: tool, arguments: JSON.stringify({command, description: 'x', is_background: false})}};
	const said = asks ? {role: 'assistant', content: null, tool_calls: [call]} : {role: 'assistant', content: 'finished'};
	const reason = asks ? 'tool_calls' : 'stop', usage = {prompt_tokens: 1, completion_tokens: 1, total_tokens: 2};
	if (!body.stream)
		return json(answer, 200, {...head, object: 'chat.completion', usage,
			choices: [{index: 0, message: said, finish_reason: reason}]});
	answer.writeHead(200, {'content-type': 'text/event-stream'});
	for (const part of [{...head, choices: [{index: 0, delta: said, finish_reason: null}]},
		{...head, usage, choices: [{index: 0, delta: {}, finish_reason: reason}]}])
		answer.write(`data: ${JSON.stringify(part)}\n\n`);
	answer.end('data: [DONE]\n\n');
}

http.createServer((request, answer) => {
	let text = '';
	request.on('data', (data) => (text += data));
	request.on('end', () => {
		const url = request.url;
		let body = {};
		try { body = JSON.parse(text); } catch { /* no body */ }
		log(`${request.method} ${url}`);
		if (url.includes('count_tokens'))
			return json(answer, 200, {input_tokens: 1});
		if (url.startsWith('/v1/messages') && body.messages)
			return messages(body, answer);
		if (url.includes('/chat/completions') && body.messages)
			return chat(body, answer);
		if (url.includes('/responses') && body.input)
			return responses(body, answer);
		if (/generateContent/i.test(url))
			return generate(body, answer, /stream/i.test(url));
		return json(answer, 200, {data: [], models: []});
	});
}).listen(8199, '127.0.0.1', () => console.log('up'));
