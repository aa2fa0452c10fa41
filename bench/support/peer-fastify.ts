import { fastify } from 'fastify';
import postgres from 'postgres';

/**
 * What most teams would write: Fastify with a JSON schema, and postgres.js that inserts one row a response. Prints its
 * port.
 */
const sql = postgres(process.env['DATABASE_URL'] ?? '', { max: 10, onnotice: () => undefined });
await sql`CREATE TABLE IF NOT EXISTS peer_responses (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), survey_id uuid NOT NULL, submitted_at timestamptz NOT NULL DEFAULT now(), answers jsonb NOT NULL)`;

const app = fastify();
const answer = {
  type: 'object',
  required: ['questionId'],
  properties: {
    questionId: { type: 'string' },
    textValue: { type: 'string' },
    numberValue: { type: 'number' },
    optionId: { type: 'string' },
  },
};
app.post(
  '/api/v1/responses/surveys/:surveyId/submit',
  {
    schema: {
      body: { type: 'object', required: ['answers'], properties: { answers: { type: 'array', items: answer } } },
    },
  },
  async (request, reply) => {
    const { surveyId } = request.params as { surveyId: string };
    const { answers } = request.body as { answers: object[] };
    const [row] = await sql<{ id: string; submitted_at: Date }[]>`
      INSERT INTO peer_responses (survey_id, answers) VALUES (${surveyId}, ${sql.json(answers as never)}) RETURNING id, submitted_at`;
    reply.code(201);
    return { success: true, data: { responseId: row?.id, isComplete: true, submittedAt: row?.submitted_at } };
  },
);
await app.listen({ host: '127.0.0.1', port: 0 });
const address = app.server.address();
process.send?.({ port: typeof address === 'object' && address ? address.port : 0 });
process.on('disconnect', () => process.exit(0));
