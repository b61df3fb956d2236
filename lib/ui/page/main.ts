// Where the page begins.

import { html, render } from './view.ts'
import { App } from './app.ts'
import { isSignedIn } from './sign-in.ts'
import { SignedIn } from './signed-in.ts'

render(html`<${isSignedIn() ? SignedIn : App} />`, document.getElementById('page')!)
