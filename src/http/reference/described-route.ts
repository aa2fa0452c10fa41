import type { ProblemCode } from '../../errors.ts';
import type { Route } from '../route.ts';

/** A route with what the reference cannot tell from its declaration. */
export type DescribedRoute = Route & {
  /** Codes beyond those that follow from access, limit, query and body. */
  refusals?: readonly ProblemCode[];
  /** A public route that looks at a token all the same. */
  takesBearer?: boolean;
};
