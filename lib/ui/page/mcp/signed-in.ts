// Where a provider sends the browser back to: hands on what it was told, and goes.

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
                <h1>You are signed in</h1>
                <p>The playground has been told. You may close this window.</p>
              `
            : html`
                <h1>The provider refused</h1>
                <p class="bad" role="alert">${back.error}</p>
                <p>Close this window, and try again in the playground.</p>
              `
        }
      </div>
    </main>
  `
}
