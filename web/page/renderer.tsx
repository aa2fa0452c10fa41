import { renderToString } from 'preact-render-to-string';

/** The HTML of the page's body. */
export const renderPage = (title: string): string => renderToString(<h1>{title}</h1>);
