import type { SurveyActors } from '../../actors/survey-actors.ts';
import { type Appearance, defaultAppearance, type Logo } from '../../domain/appearance.ts';
import { logoTypes, maxLogoBytes, maxLogoSide, readLogoImage } from '../../domain/logo-image.ts';
import type { SurveyWithQuestions } from '../../domain/survey.ts';
import { notFound, Problem, validationProblem } from '../../errors.ts';
import { createLruCache } from '../../platform/lru-cache.ts';
import { type LogoStore, logoHash, type StoredLogo } from '../../stores/postgres/logos.ts';
import { objectFromPath } from '../routing/audit.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { deletedSchema } from '../schemas/common.ts';
import { presentAppearance } from '../schemas/present-survey.ts';
import { appearanceSchema } from '../schemas/surveys.ts';

export interface LogoRoutesDeps {
  actors: Pick<SurveyActors, 'change'>;
  logos: LogoStore;
  now(): number;
}

/** Logos held in memory: at most twice as many, of 256 KiB each. */
const cachedLogos = 32;

const ofSurvey = {
  path: '/surveys/{id}/logo',
  tag: 'Surveys',
  access: { kind: 'survey', right: 'edit', by: 'id' },
  limit: 'api',
  replyStatus: 200,
} as const;

/** The picture above a survey. */
export function logoRoutes({ actors, logos, now }: LogoRoutesDeps): Route[] {
  const cache = createLruCache<StoredLogo>(cachedLogos);

  const findCached = async (hash: string): Promise<StoredLogo> => {
    const cached = cache.get(hash);
    const found = cached && (await logos.has(hash).catch(trueIfAway)) ? cached : await logos.find(hash);
    if (!found) {
      cache.delete(hash);
      throw notFound('logo');
    }
    cache.set(hash, found);
    return found;
  };
  const withLogo = (survey: SurveyWithQuestions, logo: Logo | null): SurveyWithQuestions => {
    const appearance: Appearance = { ...defaultAppearance, ...survey.appearance, logo };
    return { ...survey, appearance, updatedAt: new Date(now()) };
  };

  return [
    route({
      ...ofSurvey,
      method: 'PUT',
      operationId: 'setSurveyLogo',
      summary: 'Set the logo of a survey',
      description: `The body is the picture itself: PNG, JPEG or WebP, told by its content whatever the Content-Type (else 415), of at most ${maxLogoBytes / 1024} KiB and ${maxLogoSide} × ${maxLogoSide} pixels. It replaces the former one; the address changes with the content.`,
      bodyKind: 'raw',
      bodyMediaTypes: logoTypes,
      maxBodyBytes: maxLogoBytes,
      refusals: ['UNSUPPORTED_MEDIA_TYPE'],
      reply: appearanceSchema,
      audit: { action: 'survey.logo-set', objectKind: 'survey', describe: objectFromPath('id') },
      handle: async ({ params, rawBody: bytes }) => {
        const image = readLogoImage(bytes);
        if (!image) throw new Problem('UNSUPPORTED_MEDIA_TYPE', 'The body must be a PNG, JPEG or WebP picture');
        const { mediaType, width, height } = image;
        if (Math.max(width, height) > maxLogoSide)
          throw validationProblem([
            { path: '', message: `the picture is ${width} × ${height} pixels; a side may have ${maxLogoSide}` },
          ]);
        const survey = await actors.change(params['id'] ?? '', async (current, tx) => {
          await logos.save(tx, current.id, { mediaType, bytes });
          return { survey: withLogo(current, { hash: logoHash(bytes), width, height }), isWordingChanged: false };
        });
        return ok(presentAppearance(survey.appearance));
      },
    }),
    route({
      ...ofSurvey,
      method: 'DELETE',
      operationId: 'deleteSurveyLogo',
      summary: 'Remove the logo of a survey',
      reply: deletedSchema,
      audit: { action: 'survey.logo-removed', objectKind: 'survey', describe: objectFromPath('id') },
      handle: async ({ params }) => {
        const id = params['id'] ?? '';
        await actors.change(id, async (current, tx) => {
          if (!current.appearance?.logo) throw notFound('logo');
          await logos.remove(tx, current.id);
          return { survey: withLogo(current, null), isWordingChanged: false };
        });
        return ok({ id, deleted: true });
      },
    }),
    route({
      method: 'GET',
      path: '/public/logos/{hash}',
      operationId: 'getLogo',
      tag: 'Public',
      summary: 'Read the logo of a survey',
      description:
        'At the address that `appearance.logo.url` of the survey gives. What is at an address never changes, so it may be kept for ever; after the last survey with it has lost it, the address is 404.',
      access: { kind: 'public' },
      limit: 'api',
      reply: null,
      replyMediaType: 'image/png',
      mediaTypes: logoTypes,
      replyStatus: 200,
      handle: async ({ params }) => {
        const { mediaType, bytes } = await findCached(params['hash'] ?? '');
        return {
          kind: 'bytes',
          status: 200,
          bytes,
          headers: [
            ['content-type', mediaType],
            ['cache-control', 'public, max-age=31536000, immutable'],
            // Opened by itself, a picture that a browser took for a page could do nothing.
            ['content-security-policy', "default-src 'none'; sandbox"],
          ],
        };
      },
    }),
  ];
}

/** While PostgreSQL is away, the page of an open survey still shows its logo. */
function trueIfAway(error: unknown): boolean {
  if (error instanceof Problem && error.code === 'SERVICE_UNAVAILABLE') return true;
  throw error;
}
