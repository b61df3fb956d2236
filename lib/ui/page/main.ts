// Where the page begins.

import { html, render } from './view.ts'
import { App } from './app.ts'
import { isSignedIn } from './mcp/sign-in-window.ts'
import { SignedIn } from './mcp/signed-in.ts'

render(html`<${isSignedIn() ? SignedIn : App} />`, document.getElementById('page')!)
