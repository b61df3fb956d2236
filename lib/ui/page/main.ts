// Where the page begins.

import { html, render } from './view.ts'
import { App } from './app.ts'

render(html`<${App} />`, document.getElementById('page')!)
