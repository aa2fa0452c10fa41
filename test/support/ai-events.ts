import type { RawMessageStreamEvent } from '@anthropic-ai/sdk/resources/messages';
import type { ChatCompletionChunk } from 'openai/resources/chat/completions';
import { chatReply, type Ending, messageReply, type SeenCall } from './ai-wire.ts';

/** UTF-16 units of a piece: escapes and pairs are cut apart. */
const pieceLength = 5;
const piecesOf = (text: string): string[] => text.match(new RegExp(`[^]{1,${pieceLength}}`, 'g')) ?? [];

/** What the interface replies with when asked for a stream: its events one by one. */
export const eventsOf = (call: SeenCall, content: string, ending: Ending): string[] =>
  call.wire === 'anthropic' ? messageEvents(call, content, ending) : chatEvents(call, content, ending);

/** The event with which the stream ends after a failure in the middle. */
export const breakdownOf = ({ wire }: SeenCall): string =>
  wire === 'anthropic'
    ? event('error', { type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } })
    : event(undefined, { error: { message: 'The server had an error', type: 'server_error', code: null } });

const event = (name: string | undefined, data: unknown): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;

function chatEvents(call: SeenCall, content: string, ending: Ending): string[] {
  const {
    id,
    created,
    model,
    choices: [choice],
    usage = null,
  } = chatReply(call, content, ending);
  const chunk = (
    choices: ChatCompletionChunk['choices'],
    counted: ChatCompletionChunk['usage'] = null,
  ): ChatCompletionChunk => ({ id, created, model, object: 'chat.completion.chunk', choices, usage: counted });
  // Gemini counts as it goes, in every chunk.
  const said = (delta: ChatCompletionChunk.Choice.Delta, reason: ChatCompletionChunk.Choice['finish_reason'] = null) =>
    chunk([{ index: 0, delta, logprobs: null, finish_reason: reason }], call.wire === 'gemini' ? usage : null);
  const chunks = [
    // Azure begins with what its filters think of the question.
    ...(call.wire === 'azure' ? [chunk([])] : []),
    said({ role: 'assistant', content: '' }),
    ...piecesOf(choice?.message.content ?? '').map((piece) => said({ content: piece })),
    ...piecesOf(choice?.message.refusal ?? '').map((piece) => said({ refusal: piece })),
    said({}, choice?.finish_reason ?? null),
    ...(call.wire === 'gemini' ? [] : [chunk([], usage)]),
  ];
  return [...chunks.map((data) => event(undefined, data)), 'data: [DONE]\n\n'];
}

function messageEvents(call: SeenCall, content: string, ending: Ending): string[] {
  const {
    content: blocks,
    stop_reason,
    stop_sequence,
    stop_details,
    usage,
    ...message
  } = messageReply(call, content, ending);
  const { output_tokens, input_tokens, output_tokens_details } = usage;
  const counted = {
    output_tokens,
    input_tokens,
    output_tokens_details,
    cache_creation_input_tokens: null,
    cache_read_input_tokens: null,
    server_tool_use: null,
    container: null,
  };
  const events: RawMessageStreamEvent[] = [
    {
      type: 'message_start',
      message: {
        ...message,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        stop_details: null,
        usage: { ...usage, output_tokens: 1 },
      },
    },
    ...blocks.flatMap((block, index): RawMessageStreamEvent[] => [
      { type: 'content_block_start', index, content_block: { type: 'text', text: '', citations: null } },
      ...piecesOf(block.type === 'text' ? block.text : '').map((text) => ({
        type: 'content_block_delta' as const,
        index,
        delta: { type: 'text_delta' as const, text },
      })),
      { type: 'content_block_stop', index },
    ]),
    { type: 'message_delta', delta: { stop_reason, stop_sequence, stop_details, container: null }, usage: counted },
    { type: 'message_stop' },
  ];
  const [start = '', ...rest] = events.map((data) => event(data.type, data));
  return [start, event('ping', { type: 'ping' }), ...rest];
}
