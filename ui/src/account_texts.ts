// Texts of accounts: sign-up, passwords, invitations, users.

export const accountTexts = {
  name: "Full name",
  email: "Email",
  user: "Username",
  current: "Current password",
  new: "New password",
  repeat: "Repeat new password",
  rule: "At least 12 characters, and no common words alone.",
  different: "The two passwords are different.",
  busy: "Saving…",
  signUp: {
    title: "Create your account",
    submit: "Create account",
    noLink: "This address needs an invite link. Ask an administrator for one.",
    accept: "Accept the invitation",
    acceptBody: "This link gives you the role of the invitation, in place of your current one.",
    accepted: "You have the role of the invitation.",
  },
  reset: {
    title: "Set a new password",
    submit: "Set password",
    noLink: "This address needs a reset link. Ask an administrator for one.",
  },
  change: {
    title: "Change password",
    hint: "You stay signed in here, and are signed out everywhere else.",
    submit: "Change password",
    done: "Your password has been changed.",
  },
  signOut: {
    title: "Sign out everywhere",
    hint: "Ends your sessions in all browsers, including this one.",
    tokens: "Also revoke my access tokens",
    submit: "Sign out everywhere",
  },
  invite: {
    open: "Invite users",
    role: "Role",
    noRole: "Default role",
    create: "Create link",
    shownOnce:
      "Copy the link now. It works for 7 days, and replaces the earlier links for this role.",
    link: "Invite link",
    copy: "Copy link",
    done: "Done",
    cancel: "Cancel",
  },
  resetLink: {
    create: "Reset link",
    createLabel: (name: string) => `Create a reset link for ${name}`,
    title: (name: string) => `Reset link for ${name}`,
    shownOnce: "Copy the link now. It works once, within a day.",
    link: "Reset link",
  },
};

export const userTexts = {
  intro: "Everyone in the catalog: people with an account, and owners that imports name.",
  columns: {
    name: "Name",
    user: "Username",
    email: "Email",
    role: "Role",
    signIn: "Can sign in",
    status: "Status",
  },
  canSignIn: "Yes",
  cannotSignIn: "No",
  active: "Active",
  suspended: "Suspended",
  filter: "Find users",
  none: (query: string) => (query === "" ? "No users yet" : `No users match “${query}”`),
  noneHint: "Invite users with a link. Imports add the owners of datasets.",
  showAll: "Show all users",
};
