/* Prints the number of the network namespace it is in, which no other has or will have. With an argument it also leaves
   an IPv6 flow label behind, which lives on for a while without a socket. */
#include <arpa/inet.h>
#include <linux/in6.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>

#ifndef SO_NETNS_COOKIE
#define SO_NETNS_COOKIE 71
#endif

int main(int count, char **words) {
    uint64_t number = 0;
    socklen_t size = sizeof number;
    int socket_of_ours = socket(AF_INET6, SOCK_DGRAM, 0);
    if (getsockopt(socket_of_ours, SOL_SOCKET, SO_NETNS_COOKIE, &number, &size) < 0)
        return 1;
    printf("%llu\n", (unsigned long long)number);
    if (count > 1) {
        struct in6_flowlabel_req label = {
            .flr_label = htonl(0x12345),
            .flr_action = IPV6_FL_A_GET,
            .flr_share = IPV6_FL_S_ANY,
            .flr_flags = IPV6_FL_F_CREATE,
            .flr_linger = 60,
        };
        inet_pton(AF_INET6, "::1", &label.flr_dst);
        if (setsockopt(socket_of_ours, IPPROTO_IPV6, IPV6_FLOWLABEL_MGR, &label, sizeof label) < 0) {
            perror(words[1]);
            return 1;
        }
    }
    return 0;
}
