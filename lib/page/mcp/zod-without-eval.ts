// Lets zod, which the MCP SDK uses, work without `eval`: the page's content security policy forbids it, and zod tests for it
// when its first schema is made. The import of this file must come before that of the SDK.

import { config } from 'zod/v4/core'

config({ jitless: true })
