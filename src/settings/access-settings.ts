import { z } from 'zod';
import { documented, flag, integer, longestSeconds, textOrOff } from './value-kinds.ts';

export const accessSettings = {
  ADMIN_EMAIL: z
    .string()
    .default('admin@localhost')
    .meta(
      documented({
        description: 'E-mail address of the first ADMIN. Used only while there is no user, and by ADMIN_RESET.',
      }),
    ),
  ADMIN_PASSWORD: z
    .string()
    .min(8)
    .max(200)
    .optional()
    .meta(
      documented({
        description:
          'Password of the first ADMIN, used like ADMIN_EMAIL. One that is guessed within a few tries is refused: one of the most common passwords, rows of keys, repeats, the own address.',
        unit: 'characters',
        default: 'made and printed once',
      }),
    ),
  ADMIN_RESET: textOrOff.optional().meta(
    documented({
      description:
        'Any word, when nobody can sign in any more. At the next start the user of ADMIN_EMAIL (made if missing) becomes an ADMIN with ADMIN_PASSWORD or a printed password, and all sessions and API keys of that user end. Each word works once for an address; another reset needs another word. `false`, `0`, `no` and `off` mean no.',
      unit: 'characters',
    }),
  ),
  JWT_PRIVATE_KEY: z
    .string()
    .optional()
    .meta(
      documented({
        description:
          'Ed25519 signing key of access tokens: PEM, JWK or JWK set. With several keys the first signs and all verify ([rotation](operating.md#change-keys)).',
        default: 'made, in DATA_DIR/keys',
      }),
    ),
  SECRETS_KEY: z
    .string()
    .min(16)
    .refine((text) => text.trim() !== '', 'must not be made of blanks only')
    .optional()
    .meta(
      documented({
        description:
          'Encrypts AI provider keys and webhook secrets, and keys the hashes that stand for client addresses in limits. It cannot be [changed without loss](operating.md#change-keys).',
        unit: 'characters',
        default: 'made, in DATA_DIR/keys',
      }),
    ),
  ACCEPT_CHANGED_KEYS: flag.default(false).meta(
    documented({
      description:
        "A start with other keys than the database was used with is refused. With this setting the keys of this process become the installation's, for when the [old ones are lost](operating.md#change-keys).",
    }),
  ),
  ACCESS_TOKEN_TTL_SECONDS: integer(1, 86_400)
    .default(900)
    .meta(documented({ description: 'Lifetime of an access token.', unit: 'seconds' })),
  REFRESH_TOKEN_TTL_SECONDS: integer(1, longestSeconds)
    .default(2_592_000)
    .meta(documented({ description: 'Lifetime of a refresh token.', unit: 'seconds' })),
};
