import type { z } from 'zod';
import type { ProblemCode } from '../../errors.ts';
import type { Route } from '../routing/route.ts';

/** A success that a route may give beside the declared one. */
export interface OtherReply {
  status: number;
  description: string;
  /** `data` of the envelope; without it the reply is no JSON, and `mediaType` says what it is. */
  data?: z.ZodType;
  mediaType?: string;
  /** Has no body at all. */
  isEmpty?: true;
  /** Beside those of every reply. */
  headers?: readonly string[];
}

/** A route with what the reference cannot tell from its declaration: `{ ...route({…}), refusals: [...] }`. */
export type DescribedRoute = Route & {
  /** Codes beyond those that follow from access, limit, query and body. */
  refusals?: readonly ProblemCode[];
  /** A public route that looks at a token all the same. */
  takesBearer?: boolean;
  otherReplies?: readonly OtherReply[];
  /** What a file may be that the route gives; without it just `replyMediaType`. */
  mediaTypes?: readonly string[];
};
