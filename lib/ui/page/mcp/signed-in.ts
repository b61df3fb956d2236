// Where a provider sends the browser back to: hands on what it was told, and goes. Any site can lead somebody here, so
// nothing of the address is shown; the page that began the login tells what came of it.

import { html, useEffect, useState } from '../view.ts'
import type { VNode } from '../view.ts'
import { tellBack } from './sign-in-window.ts'
import type { Back } from './sign-in-window.ts'

export function SignedIn(): VNode {
  const [back, setBack] = useState<Back | null>(null)
  useEffect(() => {
    document.title = 'Signed in · gateway'
    const told = tellBack(new URLSearchParams(location.search))
    setBack(told)
    if (told.error === null) window.close()
  }, [])
  return html`
    <main class="signed-in">
      <div class="card">
        ${
          back?.error == null
            ? html`
                <h1>Back from the provider</h1>
                <p>The playground has been told, and goes on. You may close this window.</p>
              `
            : html`
                <h1>Not signed in</h1>
                <p class="bad" role="alert">The provider refused. The playground says why.</p>
                <p>Close this window, and try again there.</p>
              `
        }
      </div>
    </main>
  `
}
