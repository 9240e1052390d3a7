import type { JSX } from 'preact'
import { Button } from '../button.tsx'
import { Field, filledFields } from '../field.tsx'
import { session } from './service-session.ts'

export function SignIn(): JSX.Element {
  const isRefused = new URLSearchParams(location.search).get('link') === 'refused'
  const submit = (event: SubmitEvent): void => {
    const { token = '' } = filledFields(event)
    void session.signIn(token).then((isDone) => {
      // Remove `?link=refused` from the URL. Otherwise, the next sign-in would show the refusal again.
      if (isDone && isRefused) history.replaceState(null, '', location.pathname + location.hash)
    })
  }
  return (
    <main class="service">
      <form class="sign-in card" onSubmit={submit}>
        <h2>Sign in</h2>
        {isRefused ? (
          <p class="problem" role="alert">
            This link has been used before, or is older than an hour.
          </p>
        ) : null}
        <p>
          Open the link that <code>evroute serve</code> prints, or use the admin token.
        </p>
        <Field
          label="Admin token"
          name="token"
          type="password"
          autocomplete="current-password"
          required
        />
        <Button label="Sign in" type="submit" class="primary" />
      </form>
    </main>
  )
}
