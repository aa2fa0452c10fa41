import '../shared/tokens.css';
import './app/base.css';
import { QueryClientProvider } from '@tanstack/react-query';
import { RouterProvider } from '@tanstack/react-router';
import { StrictMode } from 'react';
import { RouterProvider as LinkProvider } from 'react-aria-components';
import { I18nProvider } from 'react-aria-components/I18nProvider';
import { createRoot } from 'react-dom/client';
import { router } from './app/router.tsx';
import { applyTheme } from './app/theme.ts';
import { queryClient } from './data/query-client.ts';

applyTheme();

// After an upgrade the files of the build before are gone: the page is loaded anew, once.
addEventListener('vite:preloadError', (event) => {
  try {
    if (sessionStorage.getItem('reloaded') === location.href) return;
    sessionStorage.setItem('reloaded', location.href);
  } catch {
    // A browser that blocks storage could not know that the page was loaded anew.
    return;
  }
  event.preventDefault();
  location.reload();
});

const root = document.getElementById('root');
if (root)
  createRoot(root).render(
    <StrictMode>
      <QueryClientProvider client={queryClient}>
        {/* Everything is shown in English: what is typed is read as English too, whatever the browser's language. */}
        <I18nProvider locale="en">
          <LinkProvider navigate={(href) => void router.navigate({ href })}>
            <RouterProvider router={router} />
          </LinkProvider>
        </I18nProvider>
      </QueryClientProvider>
    </StrictMode>,
  );
