import {
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
} from '@tanstack/react-router';
import { type AnalysisSearch, analysisSearch } from '../analytics/search.ts';
import { canEdit, meQuery } from '../data/me.ts';
import { queryClient } from '../data/query-client.ts';
import { type Outcome, outcomes } from '../data/responses.ts';
import { type SurveySort, type SurveyStatus, surveySorts, surveyStatuses } from '../data/surveys.ts';
import { type DeliveryStatus, deliveryStatuses, type WebhookEvent, webhookEvents } from '../data/webhooks.ts';
import { Loading } from '../parts/feedback.tsx';
import { crosstabSearch } from '../screens/crosstab/search.ts';
import { textsSearch } from '../screens/texts/search.ts';
import { AppError, NotFound, ScreenError } from './failures.tsx';
import { type BuildPane, buildPanes, day, oneOf, pageSearch, positive, text, texts as textsOf } from './search.ts';
import { resume } from './session.ts';

/** The `Screen` of a module, loaded when it is first shown. After an upgrade a missing module reloads the page. */
const screen = <Module extends { Screen: () => React.ReactNode }>(load: () => Promise<Module>) =>
  lazyRouteComponent(load, 'Screen');

const root = createRootRoute({ component: Outlet, notFoundComponent: NotFound });

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search): { next?: string } => ({ next: text(search.next) }),
  component: screen(() => import('../screens/sign-in/sign-in.tsx')),
});

/** Everything behind the sign-in, within the side navigation. */
const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  beforeLoad: async ({ location }) => {
    if (await resume()) return;
    throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { next: location.href } });
  },
  component: lazyRouteComponent(() => import('./shell.tsx'), 'Shell'),
  errorComponent: AppError,
});

const home = createRoute({
  getParentRoute: () => app,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/surveys' });
  },
});

interface SurveysSearch {
  search?: string | undefined;
  status?: SurveyStatus | undefined;
  sort?: SurveySort | undefined;
  page?: number | undefined;
}

const surveys = createRoute({
  getParentRoute: () => app,
  path: '/surveys',
  validateSearch: (search): SurveysSearch => ({
    search: text(search.search),
    status: oneOf(surveyStatuses, search.status),
    sort: oneOf(surveySorts, search.sort),
    page: positive(search.page),
  }),
  component: screen(() => import('../screens/surveys/surveys.tsx')),
});

/** A new survey, written with an AI provider. */
const draft = createRoute({
  getParentRoute: () => app,
  path: '/surveys/new',
  validateSearch: (search): { conversation?: string | undefined; language?: string | undefined } => ({
    conversation: text(search['conversation']),
    language: text(search['language']),
  }),
  component: screen(() => import('../screens/draft/draft.tsx')),
});

const survey = createRoute({
  getParentRoute: () => app,
  path: '/surveys/$surveyId',
  component: lazyRouteComponent(() => import('./survey-layout.tsx'), 'SurveyLayout'),
});

/** A survey without the name of a view: those who edit come to build it, others to read its results. */
const surveyHome = createRoute({
  getParentRoute: () => survey,
  path: '/',
  beforeLoad: async ({ params: { surveyId } }): Promise<void> => {
    const user = await queryClient.ensureQueryData(meQuery());
    const view = canEdit(user) ? 'build' : 'results';
    throw redirect({ href: `/surveys/${surveyId}/${view}`, replace: true });
  },
});

/*
 * One route a screen. To add one, put it here and into the tree below; its place in the navigation stands in
 * navigation.ts:
 *
 *   const audit = createRoute({
 *     getParentRoute: () => app, // or survey, for a tab: path: '/results'
 *     path: '/audit',
 *     validateSearch: (search): { action?: string } => ({ action: text(search.action) }),
 *     component: screen(() => import('../screens/audit/audit.tsx')),
 *   });
 */

const build = createRoute({
  getParentRoute: () => survey,
  path: '/build',
  validateSearch: (search): { item?: string | undefined; pane?: BuildPane | undefined } => ({
    item: text(search.item),
    pane: oneOf(buildPanes, search.pane),
  }),
  component: screen(() => import('../screens/build/build.tsx')),
});

const publish = createRoute({
  getParentRoute: () => survey,
  path: '/publish',
  component: screen(() => import('../screens/publish/publish.tsx')),
});

const results = createRoute({
  getParentRoute: () => survey,
  path: '/results',
  validateSearch: analysisSearch,
  component: screen(() => import('../screens/results/results.tsx')),
});

const quotas = createRoute({
  getParentRoute: () => survey,
  path: '/quotas',
  component: screen(() => import('../screens/quotas/quotas.tsx')),
});

type SelectionSearch = Pick<AnalysisSearch, 'from' | 'to' | 'filter'>;

interface ResponsesSearch extends SelectionSearch {
  outcome?: Outcome | undefined;
  /** What the table shows, by the ids of its columns; those of the beginning if undefined. */
  columns?: string[] | undefined;
}

const responses = createRoute({
  getParentRoute: () => survey,
  path: '/responses',
  validateSearch: (search): ResponsesSearch => {
    const { from, to, filter } = analysisSearch(search);
    const columns = textsOf(search['columns']);
    return { outcome: oneOf(outcomes, search['outcome']), from, to, filter, columns };
  },
  component: screen(() => import('../screens/responses/responses.tsx')),
});

const crosstab = createRoute({
  getParentRoute: () => survey,
  path: '/crosstab',
  validateSearch: crosstabSearch,
  component: screen(() => import('../screens/crosstab/crosstab.tsx')),
});

const texts = createRoute({
  getParentRoute: () => survey,
  path: '/texts',
  validateSearch: textsSearch,
  component: screen(() => import('../screens/texts/texts.tsx')),
});

const reports = createRoute({
  getParentRoute: () => survey,
  path: '/reports',
  validateSearch: (search): { report?: string | undefined; page?: number | undefined } => ({
    report: text(search.report),
    page: positive(search.page),
  }),
  component: screen(() => import('../screens/reports/reports.tsx')),
});

interface LanguagesSearch {
  language?: string | undefined;
  beside?: string | undefined;
  show?: 'open' | undefined;
}

const languages = createRoute({
  getParentRoute: () => survey,
  path: '/languages',
  validateSearch: (search): LanguagesSearch => ({
    language: text(search['language']),
    beside: text(search['beside']),
    show: oneOf(['open'], search['show']),
  }),
  component: screen(() => import('../screens/languages/languages.tsx')),
});

const exports = createRoute({
  getParentRoute: () => survey,
  path: '/exports',
  validateSearch: (search): SelectionSearch & { page?: number | undefined } => {
    const { from, to, filter } = analysisSearch(search);
    return { ...pageSearch(search), from, to, filter };
  },
  component: screen(() => import('../screens/exports/exports.tsx')),
});

const settings = createRoute({
  getParentRoute: () => survey,
  path: '/settings',
  component: screen(() => import('../screens/settings/settings.tsx')),
});

interface AuditSearch {
  user?: string | undefined;
  action?: string | undefined;
  survey?: string | undefined;
  from?: string | undefined;
  to?: string | undefined;
  page?: number | undefined;
}

const audit = createRoute({
  getParentRoute: () => app,
  path: '/audit',
  validateSearch: (search): AuditSearch => ({
    user: text(search['user']),
    action: text(search['action']),
    survey: text(search['survey']),
    from: day(search['from']),
    to: day(search['to']),
    page: positive(search['page']),
  }),
  component: screen(() => import('../screens/audit/audit.tsx')),
});

const service = createRoute({
  getParentRoute: () => app,
  path: '/service',
  validateSearch: pageSearch,
  component: screen(() => import('../screens/service/service.tsx')),
});

const people = createRoute({
  getParentRoute: () => app,
  path: '/people',
  validateSearch: pageSearch,
  component: screen(() => import('../screens/people/people.tsx')),
});

const keys = createRoute({
  getParentRoute: () => app,
  path: '/keys',
  validateSearch: pageSearch,
  component: screen(() => import('../screens/keys/keys.tsx')),
});

const webhooks = createRoute({
  getParentRoute: () => app,
  path: '/webhooks',
  validateSearch: pageSearch,
  component: screen(() => import('../screens/webhooks/webhooks.tsx')),
});

interface DeliveriesSearch {
  status?: DeliveryStatus | undefined;
  event?: WebhookEvent | undefined;
  page?: number | undefined;
}

const webhook = createRoute({
  getParentRoute: () => app,
  path: '/webhooks/$webhookId',
  validateSearch: (search): DeliveriesSearch => ({
    status: oneOf(deliveryStatuses, search['status']),
    event: oneOf(webhookEvents, search['event']),
    page: positive(search['page']),
  }),
  component: screen(() => import('../screens/webhooks/webhook.tsx')),
});

const ai = createRoute({
  getParentRoute: () => app,
  path: '/ai',
  component: screen(() => import('../screens/ai/ai.tsx')),
});

const account = createRoute({
  getParentRoute: () => app,
  path: '/account',
  component: screen(() => import('../screens/account/account.tsx')),
});

const routeTree = root.addChildren([
  signIn,
  app.addChildren([
    home,
    surveys,
    draft,
    webhooks,
    webhook,
    ai,
    people,
    audit,
    service,
    keys,
    account,
    survey.addChildren([
      surveyHome,
      build,
      publish,
      results,
      quotas,
      crosstab,
      responses,
      texts,
      exports,
      reports,
      languages,
      settings,
    ]),
  ]),
]);

export const router = createRouter({
  routeTree,
  defaultPreload: 'intent',
  defaultPendingComponent: () => <Loading />,
  defaultErrorComponent: ScreenError,
  defaultNotFoundComponent: NotFound,
  scrollRestoration: true,
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
