import { z } from 'zod';
import { currentThemeName, planThemeNames } from '../../domain/analytics/theme-names.ts';
import { validationProblem } from '../../errors.ts';
import type { AnnotationStore } from '../../stores/annotations.ts';
import type { ThemeNameStore } from '../../stores/postgres/ai/theme-names.ts';
import { ok, type Route, route } from '../routing/route.ts';
import { themeNamesChangedSchema, themeNamesSchema, themeNamingSchema } from '../schemas/ai.ts';

export interface ThemeNamesRoutesDeps {
  themeNames: ThemeNameStore;
  annotations: Pick<AnnotationStore, 'findByNames'>;
}

const maxNamings = 200;

const body = z.strictObject({
  names: z.array(themeNamingSchema).min(1).max(maxNamings).describe('Themes that get one name are merged'),
});

export function themeNamesRoutes({ themeNames, annotations }: ThemeNamesRoutesDeps): Route[] {
  return [
    route({
      method: 'GET',
      path: '/ai/surveys/{id}/theme-names',
      operationId: 'getThemeNames',
      tag: 'AI',
      summary: 'Read the names that people gave to themes',
      access: { kind: 'survey', right: 'read', by: 'id' },
      limit: 'api',
      reply: themeNamesSchema,
      replyStatus: 200,
      handle: async ({ survey }) => {
        const names = await themeNames.load(survey.id);
        return ok({
          names: [...names.values()].map(({ theme }) => ({ theme, name: currentThemeName(names, theme) })),
        });
      },
    }),
    route({
      method: 'PUT',
      path: '/ai/surveys/{id}/theme-names',
      operationId: 'setThemeNames',
      tag: 'AI',
      summary: 'Rename and merge themes',
      description:
        'Of all open questions of the survey. Themes that get one name, or that of another theme, are merged under it; `name: null` gives a theme its own name again. ' +
        'Statistics, crosstabs, filters, answers, analyses and reports have the names from the reply on. Later analyses, and one under way, file what they find under an old name under the new one, and filters understand both. ' +
        'Names are compared without case, signs and plural. May be repeated.',
      access: { kind: 'survey', right: 'edit', by: 'id' },
      limit: 'api',
      body,
      reply: themeNamesChangedSchema,
      replyStatus: 200,
      audit: {
        action: 'ai.themes-named',
        objectKind: 'survey',
        // Names of themes may tell what respondents wrote.
        describe: ({ survey, body: { names } }) => ({ objectId: survey.id, details: { themes: names.length } }),
      },
      handle: async ({ body: { names: namings }, survey }) => {
        const { theme } = await annotations.findByNames(survey.id, { variables: ['theme'] });
        const { undo } = await themeNames.change(survey.id, (names) => {
          const shown = [
            ...new Set([...(theme?.storedAs?.values() ?? [])].flat().map((name) => currentThemeName(names, name))),
          ];
          const plan = planThemeNames({ names, shown }, namings);
          if ('issues' in plan) throw validationProblem(plan.issues);
          return plan;
        });
        return ok({ undo });
      },
    }),
  ];
}
